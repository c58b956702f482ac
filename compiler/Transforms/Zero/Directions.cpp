//===- Directions.cpp - Optimizers that need whole tensors ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Muon and LAMB keep states in parts like others, but what is gathered are
// directions, not new weights. All ranks make the same of them and step whole
// weights; of weights in parts they step their own part.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Zero/Directions.h"

#include "dialects/Ptl/Emitter.h"

#include <map>

using namespace mlir;
using namespace ptlc;
using namespace ptlc::zero;

/// What the operations of one optimizer have in common.
using Key = SmallVector<const void *>;

static Key keyOf(ptl::OptimizeOp op) {
  Key key = {op.getKindAttr().getAsOpaquePointer(), op.getNesterovAttr().getAsOpaquePointer()};
  for (Value hyper : op.getHypers())
    key.push_back(hyper.getAsOpaquePointer());
  return key;
}

static void merge(ArrayRef<ptl::OptimizeOp> ops) {
  ptl::OptimizeOp first = ops.front();
  unsigned kinds = first.getStatesPerWeight();
  SmallVector<Value> weights, grads, states;
  SmallVector<StringRef> names;
  for (ptl::OptimizeOp op : ops) {
    weights.push_back(op.getWeights()[0]);
    grads.push_back(op.getGrads()[0]);
    names.push_back(cast<StringAttr>(op.getNames()[0]).getValue());
  }
  for (unsigned kind = 0; kind < kinds; ++kind)
    for (ptl::OptimizeOp op : ops)
      states.push_back(op.getStates()[kind]);
  OpBuilder builder(first);
  auto merged =
      ptl::OptimizeOp::create(builder, first.getLoc(), first.getKind(), weights, grads, states,
                              first.getHypers(), first.getStep(), names, first.getNesterov());
  for (unsigned place = 0; place < ops.size(); ++place) {
    ptl::OptimizeOp op = ops[place];
    op.getNewWeights()[0].replaceAllUsesWith(merged.getNewWeights()[place]);
    for (unsigned kind = 0; kind < kinds; ++kind)
      op.getNewStates()[kind].replaceAllUsesWith(merged.getNewStates()[kind * ops.size() + place]);
  }
  for (ptl::OptimizeOp op : ops)
    op.erase();
}

void zero::mergeDirections(func::FuncOp step, const Plan &plan) {
  std::map<Key, unsigned> numbers;
  SmallVector<SmallVector<ptl::OptimizeOp>> groups;
  for (auto op : step.getBody().front().getOps<ptl::OptimizeOp>()) {
    auto weight = dyn_cast<BlockArgument>(op.getWeights().front());
    if (!op.makesDirections() || op.getWeights().size() != 1 || !weight ||
        !plan.ruleFor(weight).level)
      continue;
    auto [found, isNew] = numbers.try_emplace(keyOf(op), groups.size());
    if (isNew)
      groups.emplace_back();
    groups[found->second].push_back(op);
  }
  for (ArrayRef<ptl::OptimizeOp> group : groups)
    merge(group);
}

void zero::moveToUse(OpBuilder &builder, ptl::OptimizeOp op, const Bucket &bucket) {
  Operation *first = nullptr;
  for (const Member &member : bucket.members)
    for (Operation *user : op.getNewWeights()[member.number].getUsers())
      if (!first || user->isBeforeInBlock(first))
        first = user;
  if (first)
    builder.setInsertionPoint(first);
}

void zero::gatherDirections(OpBuilder &builder, ptl::OptimizeOp op, const Bucket &bucket,
                            const Plan &plan, Value part) {
  SmallVector<Type> types;
  for (const Member &member : bucket.members)
    types.push_back(member.type);
  auto reason =
      builder.getStringAttr("each rank makes its part of the steps of " + Twine(types.size()) +
                            " weights ('zero " + Twine(bucket.level) + "')");
  auto whole = spmd::BucketAllGatherOp::create(builder, bucket.place, types, part,
                                               FlatSymbolRefAttr::get(op.getContext(), "mesh"),
                                               plan.attribute(bucket.axes), reason);
  for (auto [member, value] : llvm::zip_equal(bucket.members, whole.getOutputs()))
    op.getNewWeights()[member.number].replaceAllUsesWith(value);
}

SmallVector<ptl::OptimizeOp> zero::stepsOf(const Bucket &bucket) {
  SmallVector<ptl::OptimizeOp> steps;
  for (const Member &member : bucket.members)
    for (Operation *user : member.weight.getUsers())
      if (auto op = dyn_cast<ptl::OptimizeOp>(user);
          op && op.getKind() == ptl::OptimizerKind::Apply)
        steps.push_back(op);
  return steps;
}

Value zero::stepPart(ArrayRef<ptl::OptimizeOp> steps, const Bucket &bucket, const Plan &plan,
                     Value part) {
  ptl::OptimizeOp last = *llvm::max_element(
      steps, [](ptl::OptimizeOp a, ptl::OptimizeOp b) { return a->isBeforeInBlock(b); });
  OpBuilder builder(last);
  ptl::Emitter e(builder, last.getLoc());
  SmallVector<Value> directions;
  SmallVector<StringRef> paths;
  // A part has one factor: those of its weights are multiplied with before.
  for (ptl::OptimizeOp op : steps) {
    Value direction = op.getGrads()[0];
    Type type = ptl::withElement(direction.getType(), bucket.part.getElementType());
    if (direction.getType() != type)
      direction =
          ptl::ElementwiseOp::create(builder, e.loc, type, ptl::ElementwiseKind::Cast, direction);
    directions.push_back(e.mul(direction, e.to(op.getHypers().back(), direction.getType())));
  }
  for (const Member &member : bucket.members)
    paths.push_back(member.path);
  Value slice = spmd::BucketSliceOp::create(builder, e.loc, bucket.part, directions,
                                            FlatSymbolRefAttr::get(last.getContext(), "mesh"),
                                            plan.attribute(bucket.axes));
  SmallVector<Value> hypers(last.getHypers());
  hypers.back() = e.like(hypers.back(), 1);
  std::string name = bucket.name();
  auto step = ptl::OptimizeOp::create(builder, e.loc, ptl::OptimizerKind::Apply, part, slice,
                                      ValueRange(), hypers, last.getStep(), StringRef(name),
                                      /*nesterov=*/false);
  step->setAttr("ptl.members", builder.getStrArrayAttr(paths));
  return step.getNewWeights()[0];
}
