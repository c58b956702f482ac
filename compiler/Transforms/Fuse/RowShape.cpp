//===- RowShape.cpp - Which dimensions of an operation number rows --------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Fuse/RowShape.h"

#include "compiler/Analysis/Kernel/DotPlan.h"
#include "compiler/Analysis/Kernel/Outline.h"
#include "compiler/Analysis/Kernel/RowPlan.h"
#include "dialects/Rt/Rt.h"
#include "dialects/Spmd/Spmd.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ptlc;

static SmallVector<StringAttr> without(ArrayRef<StringAttr> dims, ArrayRef<StringAttr> removed) {
  SmallVector<StringAttr> result;
  llvm::copy_if(dims, std::back_inserter(result),
                [&](StringAttr dim) { return !llvm::is_contained(removed, dim); });
  return result;
}

static SmallVector<StringAttr> leading(Value value) {
  return SmallVector<StringAttr>(kernel::leadingDims(value.getType()));
}

/// All but the last dimension, or, of tensors with heads, all but those two: short rows cost more
/// than their elements.
static SmallVector<StringAttr> rowsOf(Value value) {
  constexpr int64_t kShort = 128;
  auto type = cast<RankedTensorType>(value.getType());
  bool isShort = type.getRank() >= 4 && type.getShape().back() < kShort;
  return SmallVector<StringAttr>(kernel::leadingDims(type, isShort ? 2 : 1));
}

/// A fold over trailing dimensions runs within a row; others add rows to their result.
static SmallVector<StringAttr> iterateReduce(ptl::ReduceOp op) {
  ArrayRef<StringAttr> dims = ptl::getDims(op.getX()), over = op.getOver().getNames();
  auto folded = [&](StringAttr dim) { return llvm::is_contained(over, dim); };
  if (llvm::all_of(dims.take_back(over.size()), folded))
    return without(dims, over);
  if (llvm::all_of(dims.take_front(over.size()), folded))
    return SmallVector<StringAttr>(dims.take_front(over.size()));
  return leading(op.getX());
}

SmallVector<StringAttr> fuse::iterateAlone(Operation *op) {
  return TypeSwitch<Operation *, SmallVector<StringAttr>>(op)
      .Case([](ptl::ReduceOp reduce) { return iterateReduce(reduce); })
      .Case([](ptl::DotOp dot) {
        ArrayRef<StringAttr> dims = ptl::getDims(dot.getResult());
        return SmallVector<StringAttr>(dims.drop_back(dims.size() > 1));
      })
      .Case([](ptl::TopKOp select) {
        return without(ptl::getDims(select.getX()), select.getFromAttr());
      })
      .Case([](ptl::ScatterAddOp scatter) {
        // The ids are of a row.
        SmallVector<StringAttr> rows = leading(scatter.getUpdates());
        for (StringAttr dim : ptl::getDims(scatter.getIds()))
          if (!llvm::is_contained(rows, dim))
            rows.push_back(dim);
        return rows;
      })
      .Case<ptl::ArgmaxOp, ptl::SoftmaxOp, ptl::SoftmaxGradOp, ptl::LogSoftmaxOp,
            ptl::LogSoftmaxGradOp, ptl::LayerNormOp, ptl::LayerNormGradOp, ptl::RmsNormOp,
            ptl::RmsNormGradOp, ptl::CrossEntropyOp, ptl::CrossEntropyGradOp, ptl::RopeOp>(
          [](auto composite) {
            Value widest = composite->getOperand(0);
            for (Value operand : composite->getOperands())
              if (ptl::hasDim(operand, composite.getOver()))
                widest = operand;
            return without(ptl::getDims(widest), composite.getOverAttr());
          })
      .Default([](Operation *other) { return rowsOf(other->getResult(0)); });
}

static kernel::DotOperand packed(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  kernel::DotOperand operand;
  operand.sizes.assign(type.getShape().begin(), type.getShape().end());
  operand.strides.resize(type.getRank());
  int64_t stride = 1;
  for (size_t i = type.getRank(); i-- > 0; stride *= type.getDimSize(i))
    operand.strides[i] = stride;
  for (StringAttr name : ptl::getDims(type))
    operand.names.push_back(name.getValue());
  return operand;
}

bool fuse::isMatrixProduct(ptl::DotOp op, std::string &error) {
  std::optional<kernel::GemmPlan> plan =
      kernel::planDot(packed(op.getLhs()), packed(op.getRhs()), packed(op.getResult()), error);
  if (!plan)
    return false;
  // Products with a vector are bound by memory: a loop is as good and saves the call, as long as a
  // row of sums fits into a cache.
  ArrayRef<int64_t> shape = op.getResult().getType().getShape();
  bool isShort = shape.empty() || shape.back() * 4 <= kernel::kScratchLimit;
  if (isShort && (plan->m == 1 || plan->n == 1 || plan->k == 1)) {
    error = "one side is a vector";
    return false;
  }
  return true;
}

bool fuse::staysOutside(Operation *op) {
  return isa<ptl::AccumulateOp, ptl::YieldOp, ptl::MicrobatchOp, ptl::GlobalNormOp, ptl::ReshapeOp,
             ptl::StopGradientOp, rt::KernelOp, rt::ChunksOp, rt::ReturnOp, rt::SendOp, rt::WaitOp,
             rt::ReceiveOp, rt::ExchangeOp, rt::OptimizationBarrierOp, func::ReturnOp>(op) ||
         (isa<spmd::SpmdDialect>(op->getDialect()) && !isa<spmd::MaskOp>(op));
}

bool fuse::isRuntimeAttention(Operation *op) {
  auto suits = [](auto attention) { return !attention.getCut(); };
  if (auto forward = dyn_cast<ptl::AttentionOp>(op))
    return suits(forward);
  if (auto backward = dyn_cast<ptl::AttentionGradOp>(op))
    return suits(backward);
  return false;
}
