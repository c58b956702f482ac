//===- Gradients.cpp - How the gradient of a weight is finished -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// The partitioner finishes a gradient by an all-reduce, or, over links of different
// speed, by a reduce-scatter, an all-reduce of the shard, and an all-gather.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Zero/Gradients.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::zero;

/// The only operand of a sum over ranks, or null; adds its axes.
static Value beforeSum(Value value, Axes &axes, SmallVectorImpl<Operation *> &sums) {
  auto op = value.getDefiningOp<spmd::AllReduceOp>();
  if (!op || op.getKind() != ptl::FoldKind::Sum || op.getInputs().size() != 1)
    return {};
  llvm::append_range(axes, op.getAxes().getNames());
  sums.push_back(op);
  return op.getInputs()[0];
}

/// The same for a sum in three operations.
static Value beforeScattered(Value value, Axes &axes, SmallVectorImpl<Operation *> &sums) {
  auto gather = value.getDefiningOp<spmd::AllGatherOp>();
  if (!gather)
    return {};
  Axes inner;
  SmallVector<Operation *> found = {gather};
  Value shard = gather.getX();
  while (Value before = beforeSum(shard, inner, found))
    shard = before;
  auto scatter = shard.getDefiningOp<spmd::ReduceScatterOp>();
  if (!scatter || scatter.getKind() != ptl::FoldKind::Sum ||
      scatter.getDimAttr() != gather.getDimAttr() || scatter.getAxes() != gather.getAxes())
    return {};
  found.push_back(scatter);
  llvm::append_range(sums, found);
  llvm::append_range(axes, inner);
  llvm::append_range(axes, scatter.getAxes().getNames());
  return scatter.getX();
}

Gradient zero::traceGradient(Value whole, const Plan &plan) {
  Gradient gradient{whole, whole, {}, {}, {}};
  for (Operation *user : whole.getUsers())
    if (auto mask = dyn_cast<spmd::MaskOp>(user); mask && mask.getFill().isZero())
      gradient.mask = mask;
  Axes axes;
  while (true) {
    Value before = beforeSum(gradient.pending, axes, gradient.sums);
    if (!before)
      before = beforeScattered(gradient.pending, axes, gradient.sums);
    if (!before)
      break;
    gradient.pending = before;
  }
  gradient.axes = plan.sorted(axes);
  return gradient;
}
