//===- Evaluator.cpp - Scalar code of kernel values -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Indices outside of an operand (concat, pad) are clamped and the value chosen
// afterwards: a load that is always legal needs no branch, so loops vectorise.
//===----------------------------------------------------------------------===//
#include "compiler/Conversion/KernelScalars/Evaluator.h"

#include "compiler/Conversion/KernelScalars/Arithmetic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::kernel;

Value Evaluator::mapped(const Node *node, ValueRange operands) {
  return mapValue(b, node->map, operands, node->elem);
}

Value Evaluator::evaluate(const Node *node, const Indices &at) {
  Memo::Key key{node, {}};
  for (DimId dim : node->dims)
    key.second.push_back({at[dim].base.getAsOpaquePointer(), at[dim].lane});
  for (const Memo &memo : llvm::reverse(memos))
    if (auto it = memo.values.find(key); it != memo.values.end())
      return it->second;
  Location outer = b.getLoc();
  b.setLoc(node->loc);
  Value value = materialised(node, at);
  if (!value)
    value = compute(node, at);
  b.setLoc(outer);
  return memos.back().values[key] = value;
}

Value Evaluator::compute(const Node *node, const Indices &at) {
  switch (node->kind) {
  case NodeKind::Input:
    return loadArgument(node, at);
  case NodeKind::Scalar:
    return scalars[node->argument];
  case NodeKind::Constant:
    return number(b, node->elem, node->value);
  case NodeKind::Iota: {
    Value index = value(at[node->dims[0]]);
    if (!node->cuts.empty())
      index = add(index, scalars[node->cuts[0].start]);
    return mapValue(b, Map::Cast, index, node->elem);
  }
  case NodeKind::Random:
    return computeRandom(node, at);
  case NodeKind::Map: {
    SmallVector<Value> operands;
    for (const Node *operand : node->operands)
      operands.push_back(evaluate(operand, at));
    return mapped(node, operands);
  }
  case NodeKind::Gather: {
    Indices moved = at;
    moved[node->over[0]] =
        Value(arith::ExtSIOp::create(b, b.getI64Type(), evaluate(node->operands[1], at)));
    return evaluate(node->operands[0], moved);
  }
  case NodeKind::Reindex:
    return computeReindex(node, at);
  case NodeKind::Pad:
    return computePad(node, at);
  case NodeKind::Concat:
    return computeConcat(node, at);
  case NodeKind::Mask:
    return computeMask(node, at);
  case NodeKind::Block: {
    Indices moved = at;
    Value first = apply(IndexOp::Times, evaluate(node->operands[1], at), size(node->over[1]));
    const Index &within = at[node->over[1]];
    if (size(node->over[1]) % within.lanes == 0)
      moved[node->over[0]] = {add(within.base, first), within.lane, within.lanes};
    else
      moved[node->over[0]] = add(value(within), first);
    return evaluate(node->operands[0], moved);
  }
  case NodeKind::Reduce:
  case NodeKind::ScatterAdd:
  case NodeKind::TopK:
    break;
  }
  llvm_unreachable("a reduction is materialised before it is used");
}

Value Evaluator::computeReindex(const Node *node, const Indices &at) {
  Indices moved = at;
  for (const ReindexGroup &group : node->groups) {
    SmallVector<Index> to;
    SmallVector<int64_t> toSizes, fromSizes;
    for (DimId dim : group.to) {
      to.push_back(at[dim]);
      toSizes.push_back(size(dim));
    }
    for (DimId dim : group.from)
      fromSizes.push_back(size(dim));
    Index number = shifted(flattened(to, toSizes), group.offset);
    for (auto [dim, index] : llvm::zip_equal(group.from, unflattened(number, fromSizes)))
      moved[dim] = index;
  }
  return evaluate(node->operands[0], moved);
}

Value Evaluator::computePad(const Node *node, const Indices &at) {
  Indices moved = at;
  Index index = shifted(at[node->over[1]], -node->offset);
  Value last = integer(b, size(node->over[0]) - 1);
  // One unsigned comparison covers both ends.
  Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ule, value(index), last);
  moved[node->over[0]] = clamped(index, size(node->over[0]));
  return arith::SelectOp::create(b, inside, evaluate(node->operands[0], moved),
                                 number(b, node->elem, node->value));
}

Value Evaluator::computeConcat(const Node *node, const Indices &at) {
  Value result;
  Index index = at[node->over.back()];
  int64_t begin = 0;
  for (auto [i, operand] : llvm::enumerate(node->operands)) {
    DimId piece = node->over[i];
    Indices moved = at;
    moved[piece] = clamped(shifted(index, -begin), size(piece));
    Value value = evaluate(operand, moved);
    result = result ? arith::SelectOp::create(b, atLeast(index, begin), value, result) : value;
    begin += size(piece);
  }
  return result;
}

Value Evaluator::computeMask(const Node *node, const Indices &at) {
  Value inside;
  for (const Cut &cut : node->cuts) {
    Value valid =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, value(at[cut.dim]), scalars[cut.valid]);
    inside = inside ? arith::AndIOp::create(b, inside, valid) : valid;
  }
  return arith::SelectOp::create(b, inside, evaluate(node->operands[0], at),
                                 number(b, node->elem, node->value));
}

Value Evaluator::computeRandom(const Node *node, const Indices &at) {
  // Row-major in the global type, as declared.
  Value index;
  for (DimId dim : node->dims) {
    int64_t extent = size(dim);
    Value global = value(at[dim]);
    for (const Cut &cut : node->cuts)
      if (cut.dim == dim) {
        extent = cut.global;
        global = add(global, scalars[cut.start]);
      }
    index = index ? add(apply(IndexOp::Times, index, extent), global) : global;
  }
  if (!index)
    index = integer(b, 0);
  Value step = evaluate(node->operands[0], at);
  return randomValue(b, node->normal, node->place, scalars[node->argument], step, index);
}
