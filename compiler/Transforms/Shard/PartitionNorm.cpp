//===- PartitionNorm.cpp - The norm of values that are cut ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Gradients stay as their weights are cut. Those that are cut over the same axes
// form a group: each rank adds up the squares of its parts, and these sums are added
// over the axes and then over the groups. What is not cut counts once, in the group
// that is added over no axis. Sums are exact, so that cuts don't change a bit.
//===----------------------------------------------------------------------===//
#include "compiler/Support/Stages.h"
#include "compiler/Transforms/Shard/Attributes.h"
#include "compiler/Transforms/Shard/Partitioner.h"

#include <map>

using namespace mlir;
using namespace ptlc;
using namespace ptlc::sharding;
using namespace ptlc::shard;

/// The part of a value that this rank has, 0 where it is padding.
Value Partitioner::partOf(Value value, const Sharding &sharding) {
  Value local = get(value, sharding);
  SmallVector<unsigned> uneven;
  auto shape = cast<RankedTensorType>(value.getType()).getShape();
  for (auto [dim, axes] : llvm::enumerate(sharding.dims))
    if (isUneven(mesh, shape[dim], axes))
      uneven.push_back(dim);
  return !uneven.empty() ? mask(local, value, sharding, uneven, 0) : local;
}

Value Partitioner::addSquares(Value square, ArrayRef<AxisId> axes) {
  if (axes.empty())
    return square;
  MLIRContext *context = builder.getContext();
  auto reason = builder.getStringAttr(
      "the norm is of all gradients, some of which are split over " + axesText(mesh, axes));
  return spmd::AllReduceOp::create(builder, square.getLoc(), TypeRange{square.getType()},
                                   ptl::FoldKindAttr::get(context, ptl::FoldKind::Sum),
                                   ValueRange{square}, FlatSymbolRefAttr::get(context, "mesh"),
                                   toAttribute(context, mesh, axes), reason, /*members=*/nullptr)
      .getResult(0);
}

LogicalResult Partitioner::globalNorm(ptl::GlobalNormOp op) {
  std::map<AxisList, SmallVector<Value>> groups;
  for (Value operand : op.getOperands()) {
    Sharding sharding = wanted(operand);
    sharding.partial = 0;
    AxisList axes;
    for (const auto &list : sharding.dims)
      axes.append(list.begin(), list.end());
    llvm::sort(axes);
    Value part = partOf(operand, sharding);
    groups[axes].push_back(part);
  }
  // The stages of a pipeline add up what they have.
  bool isWhole = groups.size() == 1 && groups.begin()->first.empty() &&
                 !pipelineOf(op->getParentOfType<ModuleOp>());
  if (isWhole) {
    Value norm =
        ptl::GlobalNormOp::create(builder, op.getLoc(), op.getType(), groups.begin()->second);
    produce(op.getResult(), norm, Sharding(0));
    return success();
  }
  SmallVector<Value> sums;
  for (auto &[axes, parts] : groups)
    sums.push_back(addSquares(
        spmd::SquareSumOp::create(builder, op.getLoc(), parts, ArrayRef<Attribute>()), axes));
  Value root = spmd::RootOp::create(builder, op.getLoc(), op.getType(), sums);
  produce(op.getResult(), root, Sharding(0));
  return success();
}
