//===- Gather.cpp - Split weights, whole where they are used --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// All uses are known, so what goes first is what is needed again last (Belady, "A
// study of replacement algorithms for a virtual-storage computer", 1966). A small
// bucket that every layer reads stays; a layer goes when the next one comes.
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
  /// Makes `user` read the gathered tensors; `next` is the place of the bucket's next use in the
  /// block's uses, or kNever.
  void use(const SplitWeights &weights, Operation *user, size_t next);

  static constexpr size_t kNever = SIZE_MAX;

private:
  struct Entry {
    spmd::BucketAllGatherOp gather;
    int64_t bytes;
    size_t next;
  };
  void makeRoom(const Bucket *kept);
  const zero::Plan &plan;
  int64_t room, used = 0;
  Times &times;
  llvm::MapVector<const Bucket *, Entry> entries;
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

/// Forgets what has no other use, and then, until the others fit, what is used last.
void Resident::makeRoom(const Bucket *kept) {
  auto forget = [&](const Bucket *bucket) {
    used -= entries.find(bucket)->second.bytes;
    entries.erase(bucket);
  };
  for (const auto &entry : llvm::to_vector(entries))
    if (entry.second.next == kNever && entry.first != kept)
      forget(entry.first);
  while (used > room && entries.size() > 1) {
    const Bucket *last = nullptr;
    for (const auto &[bucket, entry] : entries)
      if (bucket != kept && (!last || entry.next > entries.find(last)->second.next))
        last = bucket;
    forget(last);
  }
}

void Resident::use(const SplitWeights &weights, Operation *user, size_t next) {
  auto found = entries.find(weights.bucket);
  if (found == entries.end()) {
    int64_t bytes = bytesOf(*weights.bucket);
    Entry entry{gather(weights, user, times[weights.bucket]++, plan), bytes, next};
    found = entries.insert({weights.bucket, entry}).first;
    used += bytes;
  }
  found->second.next = next;
  spmd::BucketAllGatherOp gathered = found->second.gather;
  makeRoom(weights.bucket);
  for (auto [number, tensor] : llvm::enumerate(gathered.getOutputs()))
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
    SmallVector<size_t> next(uses.size(), Resident::kNever);
    std::map<std::pair<int, const SplitWeights *>, size_t> later;
    for (size_t place = uses.size(); place-- > 0;) {
      std::pair<int, const SplitWeights *> key(plan.partOf(uses[place].user), uses[place].weights);
      if (auto found = later.find(key); found != later.end())
        next[place] = found->second;
      later[key] = place;
    }
    Times times;
    std::map<int, Resident> residents; ///< by part of the pipeline
    for (auto [use, following] : llvm::zip_equal(uses, next))
      residents.try_emplace(plan.partOf(use.user), plan, 2 * largest, times)
          .first->second.use(*use.weights, use.user, following);
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
