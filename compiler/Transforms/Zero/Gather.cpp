//===- Gather.cpp - Split weights, whole where they are used --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Zero/Gather.h"

#include "compiler/Transforms/Zero/Signature.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

#include <map>

using namespace mlir;
using namespace ptlc;
using namespace ptlc::zero;

/// The operation around `user` in the loop over micro-batches, or else in the function's block.
static Operation *outermost(Operation *user) {
  while (!isa<ptl::AccumulateOp, func::FuncOp>(user->getParentOp()))
    user = user->getParentOp();
  return user;
}

/// How often each bucket was gathered in a block.
using Times = DenseMap<const Bucket *, int64_t>;

namespace {
/// What is whole at a place of one block; stages of a pipeline share nothing.
class Resident {
public:
  Resident(const zero::Plan &plan, int64_t room, Times &times)
      : plan(plan), room(room), times(times) {}
  /// Makes `user` read the gathered tensors.
  void use(const SplitWeights &weights, Operation *user);

private:
  struct Entry {
    spmd::BucketAllGatherOp gather;
    int64_t bytes;
  };
  const zero::Plan &plan;
  int64_t room, used = 0;
  Times &times;
  llvm::MapVector<const Bucket *, Entry> entries; ///< the one that was used last is the last
};
} // namespace

static int64_t bytesOf(const Bucket &bucket) {
  int64_t elements = 0;
  for (const Member &member : bucket.members)
    elements += cast<RankedTensorType>(member.type).getNumElements();
  return elements * llvm::divideCeil(bucket.part.getElementTypeBitWidth(), 8);
}

static spmd::BucketAllGatherOp gather(const SplitWeights &weights, Operation *user, int64_t time,
                                      const zero::Plan &plan) {
  OpBuilder builder(user);
  const Bucket &bucket = *weights.bucket;
  SmallVector<Type> types;
  for (const Member &member : bucket.members)
    types.push_back(member.type);
  auto reason = builder.getStringAttr("each rank keeps its part of " + Twine(types.size()) +
                                      " weights ('zero 3')");
  auto op = spmd::BucketAllGatherOp::create(builder, bucket.place, types, weights.part,
                                            FlatSymbolRefAttr::get(user->getContext(), "mesh"),
                                            plan.attribute(bucket.axes), reason);
  // Equal gathers would become one, whose result is kept from the first use to the last.
  op->setAttr("spmd.time", builder.getI64IntegerAttr(time));
  return op;
}

void Resident::use(const SplitWeights &weights, Operation *user) {
  Entry entry;
  if (auto found = entries.find(weights.bucket); found != entries.end()) {
    entry = found->second;
    entries.erase(found);
  } else {
    entry = {gather(weights, user, times[weights.bucket]++, plan), bytesOf(*weights.bucket)};
    used += entry.bytes;
  }
  entries.insert({weights.bucket, entry});
  while (used > room && entries.size() > 1) {
    used -= entries.front().second.bytes;
    entries.erase(entries.begin());
  }
  for (auto [number, tensor] : llvm::enumerate(entry.gather.getOutputs()))
    if (Value argument = weights.whole[number])
      argument.replaceUsesWithIf(tensor,
                                 [&](OpOperand &use) { return outermost(use.getOwner()) == user; });
}

void zero::gatherWeights(ArrayRef<SplitWeights> weights, const Plan &plan) {
  struct Use {
    Operation *user;
    const SplitWeights *weights;
  };
  llvm::MapVector<Block *, SmallVector<Use>> blocks;
  int64_t largest = 0;
  for (const SplitWeights &each : weights) {
    largest = std::max(largest, bytesOf(*each.bucket));
    llvm::SmallSetVector<Operation *, 8> users;
    for (BlockArgument argument : each.whole)
      if (argument)
        for (Operation *user : argument.getUsers())
          users.insert(outermost(user));
    for (Operation *user : users)
      blocks[user->getBlock()].push_back({user, &each});
  }
  for (auto &[block, uses] : blocks) {
    llvm::stable_sort(uses, [](const Use &a, const Use &b) {
      return a.user != b.user && a.user->isBeforeInBlock(b.user);
    });
    Times times;
    std::map<int, Resident> residents; ///< by part of the pipeline
    for (const Use &use : uses)
      residents.try_emplace(plan.partOf(use.user), plan, 2 * largest, times)
          .first->second.use(*use.weights, use.user);
  }
}

void zero::splitReader(func::FuncOp function, ArrayRef<const Bucket *> buckets, const Plan &plan) {
  llvm::StringMap<BlockArgument> arguments;
  for (BlockArgument argument : function.getArguments())
    if (auto path = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "ptl.path"))
      arguments[path.getValue()] = argument;
  Signature signature(function);
  std::vector<SplitWeights> weights;
  for (const Bucket *bucket : buckets) {
    SplitWeights split{bucket, {}, {}};
    SmallVector<Value> known;
    for (const Member &member : bucket->members) {
      split.whole.push_back(arguments.lookup(member.path));
      if (split.whole.back())
        known.push_back(split.whole.back());
    }
    if (known.empty())
      continue;
    split.part = signature.add(*bucket, plan, known, bucket->weightAttributes());
    weights.push_back(std::move(split));
  }
  gatherWeights(weights, plan);
  signature.eraseArguments();
}
