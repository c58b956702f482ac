//===- VerifyNorm.cpp - The norm of values that are cut -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The root of a sum of squares isn't linear, so a rank's norm is several
// operations: norms of groups of parts, which are squared, added over ranks,
// then over groups. What counts is that every value is in it once, and that its
// squares are added over the axes that cut it, and over no others, since replicas
// would count again. In which order is free.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Shard/Attributes.h"
#include "compiler/Transforms/Shard/ShardingVerifier.h"

using namespace ptlc;
using namespace ptlc::sharding;
using namespace ptlc::shard;
using namespace mlir;

FailureOr<NormShare> ShardingVerifier::normOfParts(ptl::GlobalNormOp op) {
  NormShare share;
  for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
    auto found = parts.find(operand);
    if (found == parts.end())
      return wrong(op) << "uses a part of a norm as operand " << i;
    const Part &part = found->second;
    AxisSet axes = part.sharding.used();
    if (part.sharding.partial || part.pieces > 1 || (i > 0 && axes != share.axes))
      return wrong(op) << "needs finished values that the same axes cut; operand " << i << " is "
                       << toString(mesh, part.sharding);
    share.axes = axes;
    share.members[part.global]++;
    auto type = cast<RankedTensorType>(part.global.getType());
    for (auto [dim, list] : llvm::enumerate(part.sharding.dims))
      if (isUneven(mesh, type.getDimSize(dim), list) &&
          (part.padding.empty() || part.padding[dim] != 0))
        return wrong(op) << "squares '" << ptl::getDims(type)[dim].getValue()
                         << "', whose padding in operand " << i << " isn't 0";
  }
  return share;
}

/// What one step from parts to the norm gives; fails if it isn't one.
FailureOr<NormShare> ShardingVerifier::normShare(Operation *op) {
  if (auto parts = dyn_cast<ptl::GlobalNormOp>(op))
    return normOfParts(parts);
  SmallVector<NormShare, 2> from;
  for (Value operand : op->getOperands())
    if (auto found = shares.find(operand); found != shares.end())
      from.push_back(found->second);
  auto math = dyn_cast<ptl::ElementwiseOp>(op);
  bool twice = from.size() == 2 && op->getNumOperands() == 2;
  if (math && math.getKind() == ptl::ElementwiseKind::Mul && twice &&
      op->getOperand(0) == op->getOperand(1) && !from[0].squared) {
    from[0].squared = true;
    return from[0];
  }
  if (math && math.getKind() == ptl::ElementwiseKind::Add && twice && from[0].squared &&
      from[1].squared && from[0].axes == from[1].axes) {
    for (auto [value, count] : from[1].members)
      from[0].members[value] += count;
    return from[0];
  }
  if (math && math.getKind() == ptl::ElementwiseKind::Sqrt && from.size() == 1 && from[0].squared &&
      !from[0].axes) {
    from[0].squared = false;
    return from[0];
  }
  auto sum = dyn_cast<spmd::AllReduceOp>(op);
  if (sum && sum.getKind() == ptl::FoldKind::Sum && from.size() == 1 && from[0].squared) {
    AxisSet axes = 0;
    for (StringAttr name : sum.getAxes().getNames())
      if (int axis = mesh.find(name.getValue()); axis >= 0)
        axes |= axisBit(axis);
    bool inUse = (axes & ~from[0].axes) == 0 && axes;
    from[0].axes &= ~axes;
    if (inUse)
      return from[0];
  }
  return wrong(op) << "isn't a step to the norm of all values";
}

bool ShardingVerifier::isComplete(const NormShare &share, ptl::GlobalNormOp expected) const {
  llvm::DenseMap<Value, unsigned> members;
  for (Value operand : expected.getOperands())
    members[constrained(operand)]++;
  return !share.squared && !share.axes && share.members == members;
}

LogicalResult ShardingVerifier::norm(Operation *op, ptl::GlobalNormOp expected, bool &matched) {
  FailureOr<NormShare> share = normShare(op);
  if (failed(share))
    return failure();
  if (op->getResult(0).getType() != expected.getResult().getType())
    return wrong(op) << "should give " << expected.getResult().getType();
  matched = isComplete(*share, expected);
  if (matched)
    return define(op, 0, expected.getResult(), Sharding(0));
  shares[op->getResult(0)] = *share;
  return success();
}
