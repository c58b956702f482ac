//===- ImportReductions.cpp - Contractions, sums and means ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Everything here folds dimensions. When the last batch of a pass may be short,
// the rows beyond `valid` are masked before each fold over the batch, and means
// divide by the number of valid ones, so that losses stay those of the samples
// that there are. Gradients follow: the derivative of the mask is the mask.
//===----------------------------------------------------------------------===//
#include "compiler/Import/GraphImporter.h"

#include "llvm/ADT/STLExtras.h"

using namespace ptlc;
using namespace ptlc::import;
using namespace mlir;
using ptl::ElementwiseKind;

/// Returns the i1 mask [batch] of valid samples if `folded` has the batch and it may be short.
Value GraphImporter::validMask(const sema::DimList &folded) {
  if (!context.valid || !llvm::is_contained(folded, sema::kBatchDim))
    return {};
  int64_t batch = program.size(sema::kBatchDim);
  Value index = ptl::IotaOp::create(builder, loc, nameOf(sema::kBatchDim), batch);
  auto type = mlir::cast<RankedTensorType>(index.getType());
  Value limit = align(cast(context.valid, builder.getI32Type()), type);
  return elementwise(ElementwiseKind::Lt, {index, limit});
}

/// Left to right; a name is summed as soon as no later operand has it.
Value GraphImporter::buildDot(const sema::Node &node) {
  const sema::DimList &over = std::get<sema::DimsAttrs>(node.attrs).dims;
  Value mask = validMask(over);
  auto ready = [&](Value x) {
    return mask && llvm::is_contained(ptl::getDims(x.getType()), nameOf(sema::kBatchDim))
               ? masked(x, mask, 0)
               : x;
  };
  SmallVector<StringAttr> left = namesOf(over);
  Value result = ready(operand(node, 0));
  if (node.operands.size() == 1)
    return ptl::ReduceOp::create(builder, loc, ptl::FoldKind::Sum, result, left);
  for (unsigned i = 1; i < node.operands.size(); i++) {
    Value next = ready(operand(node, i));
    SmallVector<StringAttr> now, later;
    for (StringAttr name : left) {
      bool needed = false;
      for (unsigned j = i + 1; j < node.operands.size(); j++)
        needed |= llvm::is_contained(ptl::getDims(operand(node, j).getType()), name);
      (needed ? later : now).push_back(name);
    }
    bool last = i + 1 == node.operands.size();
    result =
        last ? ptl::DotOp::create(builder, loc, result, next, now, ptl::getDims(resultType(node)))
             : ptl::DotOp::create(builder, loc, result, next, now);
    left = later;
  }
  return result;
}

/// Returns the number of elements that `mask` lets through, as f32 of the fold's result type.
Value GraphImporter::countOf(Value mask, const sema::DimList &folded, RankedTensorType result) {
  auto type = mlir::cast<RankedTensorType>(mask.getType());
  SmallVector<StringAttr> inMask;
  double repeats = 1;
  for (sema::DimId dim : folded) {
    if (llvm::is_contained(ptl::getDims(type), nameOf(dim)))
      inMask.push_back(nameOf(dim));
    else
      repeats *= program.size(dim);
  }
  Value count = cast(mask, builder.getF32Type());
  if (!inMask.empty())
    count = ptl::ReduceOp::create(builder, loc, ptl::FoldKind::Sum, count, inMask);
  if (repeats != 1)
    count = elementwise(ElementwiseKind::Mul, {count, constantLike(repeats, count)});
  return align(count, result);
}

Value GraphImporter::buildMean(const sema::Node &node, Value x, Value mask) {
  const sema::DimList &folded = std::get<sema::DimsAttrs>(node.attrs).dims;
  x = cast(x, builder.getF32Type());
  if (mask)
    x = masked(x, mask, 0);
  Value sum = ptl::ReduceOp::create(builder, loc, ptl::FoldKind::Sum, x, namesOf(folded));
  auto type = mlir::cast<RankedTensorType>(sum.getType());
  if (mask)
    return elementwise(ElementwiseKind::Div, {sum, countOf(mask, folded, type)});
  return elementwise(ElementwiseKind::Mul, {sum, constant(1.0 / sizeOf(folded), type)});
}

Value GraphImporter::buildReduce(const sema::Node &node) {
  const sema::DimList &folded = std::get<sema::DimsAttrs>(node.attrs).dims;
  Value x = operand(node, 0);
  Value mask = node.operands.size() > 1 ? operand(node, 1) : Value();
  if (Value valid = validMask(folded)) {
    auto type = mlir::cast<RankedTensorType>(x.getType());
    mask =
        mask ? elementwise(ElementwiseKind::And, {align(mask, type), align(valid, type)}) : valid;
  }
  if (node.op == sema::Op::Mean)
    return buildMean(node, x, mask);
  // bool counts as 0 or 1; the result's kind says what a sum of it is.
  x = cast(x, resultType(node).getElementType());
  double infinity = std::numeric_limits<double>::infinity();
  ptl::FoldKind kind = ptl::FoldKind::Sum;
  double neutral = 0;
  if (node.op != sema::Op::Sum) {
    bool isMax = node.op == sema::Op::Max;
    kind = isMax ? ptl::FoldKind::Max : ptl::FoldKind::Min;
    neutral = isMax ? -infinity : infinity;
    if (!isa<FloatType>(resultType(node).getElementType()))
      neutral = isMax ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int32_t>::max();
  }
  if (mask)
    x = masked(x, mask, neutral);
  return ptl::ReduceOp::create(builder, loc, kind, x, namesOf(folded));
}

Value GraphImporter::sumAll(Value x) {
  auto names = ptl::getDims(x.getType());
  if (names.empty())
    return x;
  return ptl::ReduceOp::create(builder, loc, ptl::FoldKind::Sum, x, names);
}

Value GraphImporter::buildMse(const sema::Node &node) {
  Value a = operand(node, 0);
  auto type = mlir::cast<RankedTensorType>(a.getType());
  Value difference = elementwise(ElementwiseKind::Sub, {a, align(operand(node, 1), type)});
  Value square = elementwise(ElementwiseKind::Mul, {difference, difference});
  const sema::DimList &dims = graph.type(node.operands[0]).dims;
  RankedTensorType scalar = resultType(node);
  if (Value mask = validMask(dims))
    return elementwise(ElementwiseKind::Div,
                       {sumAll(masked(square, mask, 0)), countOf(mask, dims, scalar)});
  return elementwise(ElementwiseKind::Mul, {sumAll(square), constant(1.0 / sizeOf(dims), scalar)});
}
