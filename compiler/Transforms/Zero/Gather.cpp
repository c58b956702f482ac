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

/// The casts to bf16 that read a weight, and whether nothing but an optimizer does else.
static std::pair<SmallVector<Operation *>, bool> castsOf(Value weight) {
  SmallVector<Operation *> casts;
  for (Operation *user : weight.getUsers()) {
    auto map = dyn_cast<ptl::ElementwiseOp>(user);
    if (map && map.getKind() == ptl::ElementwiseKind::Cast &&
        ptl::elementType(map.getResult()).isBF16())
      casts.push_back(map);
    else if (!isa<ptl::OptimizeOp>(user))
      return {casts, false};
  }
  return {casts, true};
}

Type zero::elementRead(BlockArgument weight) {
  auto [casts, isAll] = castsOf(weight);
  return ptl::elementType(isAll && !casts.empty() ? casts.front()->getResult(0) : Value(weight));
}

void zero::readCasts(SplitWeights &weights) {
  bool isAll = llvm::all_of(weights.whole,
                            [](Value argument) { return !argument || castsOf(argument).second; });
  if (!weights.bucket->isCast() || !isAll)
    return;
  Block *block = weights.part.getParentBlock();
  OpBuilder builder = OpBuilder::atBlockBegin(block);
  weights.part =
      ptl::ElementwiseOp::create(builder, weights.bucket->place,
                                 ptl::withElement(weights.part.getType(), weights.bucket->read),
                                 ptl::ElementwiseKind::Cast, weights.part);
  for (Value &whole : weights.whole) {
    SmallVector<Operation *> casts = whole ? castsOf(whole).first : SmallVector<Operation *>();
    whole = {};
    if (casts.empty())
      continue;
    casts.front()->moveBefore(block, block->begin());
    whole = casts.front()->getResult(0);
    for (Operation *other : llvm::drop_begin(casts)) {
      other->replaceAllUsesWith(casts.front());
      other->erase();
    }
  }
}

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

static int64_t bytesOf(const SplitWeights &weights) {
  int64_t elements = 0;
  for (const Member &member : weights.bucket->members)
    elements += cast<RankedTensorType>(member.type).getNumElements();
  return elements * ptl::elementType(weights.part).getIntOrFloatBitWidth() / 8;
}

static spmd::BucketAllGatherOp gather(const SplitWeights &weights, OpBuilder &builder,
                                      const zero::Plan &plan) {
  const Bucket &bucket = *weights.bucket;
  SmallVector<Type> types;
  for (const Member &member : bucket.members)
    types.push_back(ptl::withElement(member.type, ptl::elementType(weights.part)));
  auto reason = builder.getStringAttr("each rank keeps its part of " + Twine(types.size()) +
                                      " weights ('zero " + Twine(bucket.level) + "')");
  return spmd::BucketAllGatherOp::create(builder, bucket.place, types, weights.part,
                                         FlatSymbolRefAttr::get(builder.getContext(), "mesh"),
                                         plan.attribute(bucket.axes), reason);
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
    OpBuilder builder(user);
    Entry entry{gather(weights, builder, plan), bytesOf(weights), next};
    // Equal gathers would become one, whose result is kept from the first use to the last.
    entry.gather->setAttr("spmd.time", builder.getI64IntegerAttr(times[weights.bucket]++));
    found = entries.insert({weights.bucket, entry}).first;
    used += entry.bytes;
  }
  found->second.next = next;
  spmd::BucketAllGatherOp gathered = found->second.gather;
  makeRoom(weights.bucket);
  for (auto [number, tensor] : llvm::enumerate(gathered.getOutputs()))
    if (Value whole = weights.whole[number])
      whole.replaceUsesWithIf(tensor,
                              [&](OpOperand &use) { return outermost(use.getOwner()) == user; });
}

/// Removes casts that nothing reads any more.
static void eraseCasts(ArrayRef<SplitWeights> weights) {
  for (const SplitWeights &each : weights)
    for (Value whole : each.whole)
      if (Operation *cast = whole ? whole.getDefiningOp() : nullptr)
        cast->erase();
}

void zero::gatherWeights(ArrayRef<SplitWeights> weights, const Plan &plan) {
  struct Use {
    Operation *user;
    const SplitWeights *weights;
  };
  llvm::MapVector<Block *, SmallVector<Use>> blocks;
  int64_t largest = 0;
  for (const SplitWeights &each : weights) {
    largest = std::max(largest, bytesOf(each));
    llvm::SmallSetVector<Operation *, 8> users;
    for (Value whole : each.whole)
      if (whole)
        for (Operation *user : whole.getUsers())
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
  eraseCasts(weights);
}

void zero::gatherOnce(const SplitWeights &weights, const Plan &plan) {
  OpBuilder builder(weights.part.getContext());
  builder.setInsertionPointAfterValue(weights.part);
  spmd::BucketAllGatherOp op = gather(weights, builder, plan);
  for (auto [number, tensor] : llvm::enumerate(op.getOutputs()))
    if (Value whole = weights.whole[number])
      whole.replaceAllUsesWith(tensor);
  eraseCasts(weights);
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
    readCasts(split);
    weights.push_back(std::move(split));
  }
  gatherWeights(weights, plan);
  signature.eraseArguments();
}
