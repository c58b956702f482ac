//===- VerifyNorm.cpp - The norm of values that are cut -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A rank's norm is one operation, or several: sums of the squares of groups of
// parts, which are added over ranks, and the root of these sums. What counts is that
// every value is in it once, and that its squares are added over the axes that cut
// it, and over no others, since replicas would count again.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Shard/Attributes.h"
#include "compiler/Transforms/Shard/ShardingVerifier.h"

using namespace ptlc;
using namespace ptlc::sharding;
using namespace ptlc::shard;
using namespace mlir;

/// The squares of the operands.
FailureOr<NormShare> ShardingVerifier::squaresOf(Operation *op) {
  NormShare share;
  if (auto sum = dyn_cast<spmd::SquareSumOp>(op))
    for (auto [i, list] : llvm::enumerate(sum.getMembers().getAsRange<ArrayAttr>()))
      if (!list.empty())
        return wrong(op) << "takes operand " << i << " for a part of a bucket";
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
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
  if (isa<ptl::GlobalNormOp, spmd::SquareSumOp>(op)) {
    FailureOr<NormShare> share = squaresOf(op);
    if (succeeded(share))
      share->isRoot = isa<ptl::GlobalNormOp>(op);
    return share;
  }
  SmallVector<NormShare, 2> from;
  for (Value operand : op->getOperands())
    if (auto found = shares.find(operand); found != shares.end() && !found->second.isRoot)
      from.push_back(found->second);
  bool isAll = !from.empty() && from.size() == op->getNumOperands();
  if (isa<spmd::RootOp>(op) && isAll &&
      llvm::none_of(from, [](const NormShare &share) { return share.axes; })) {
    for (const NormShare &other : ArrayRef(from).drop_front())
      for (auto [value, count] : other.members)
        from[0].members[value] += count;
    from[0].isRoot = true;
    return from[0];
  }
  auto sum = dyn_cast<spmd::AllReduceOp>(op);
  if (sum && sum.getKind() == ptl::FoldKind::Sum && isAll && from.size() == 1) {
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
  return share.isRoot && !share.axes && share.members == members;
}

LogicalResult ShardingVerifier::norm(Operation *op, ptl::GlobalNormOp expected, bool &matched) {
  FailureOr<NormShare> share = normShare(op);
  if (failed(share))
    return failure();
  matched = isComplete(*share, expected);
  if (share->isRoot && op->getResult(0).getType() != expected.getResult().getType())
    return wrong(op) << "should give " << expected.getResult().getType();
  if (matched)
    return define(op, 0, expected.getResult(), Sharding(0));
  shares[op->getResult(0)] = *share;
  return success();
}
