//===- CombineAllReduces.cpp - Bucket neighbouring all-reduces ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// First each all-reduce moves up behind the operation that makes its last
// operand, so that those of one loop over micro-batches become neighbours. Then
// each block is walked once with one open bucket for each kind of all-reduce. A
// bucket is issued, as one collective at its last member, as soon as an operation
// reads a result of it, an all-reduce doesn't fit, or the block ends.
//
// Moving a collective is sound because every rank runs the same block: see "SPMD
// purity" in dialects/doc/SpmdRationale.md. Ranks along the axis of a pipeline don't,
// so what they reduce with each other stays where it is. The cost is linear in operations.
// compiler/doc/Communication.md has the reason for the size of a bucket.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Comm/Passes.h"

#include "compiler/Support/Location.h"
#include "compiler/Support/Programs.h"
#include "dialects/Spmd/AllReduceAxis.h"
#include "dialects/Ptl/ByteSize.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace ptlc::comm {
#define GEN_PASS_DEF_COMBINEALLREDUCES
#include "compiler/Transforms/Comm/Passes.h.inc"
} // namespace ptlc::comm
using namespace mlir;
using namespace ptlc;

/// Bytes of all operands on one device.
static int64_t payloadBytes(spmd::AllReduceOp op) {
  return ptl::getByteSize(op.getInputs().getTypes());
}

/// Moves `op` behind what makes its operands, and behind the all-reduces that stand there already,
/// of which `placed` knows the last by what makes it.
static void hoist(spmd::AllReduceOp op, DenseMap<Operation *, Operation *> &placed) {
  Operation *latest = nullptr;
  for (Value input : op.getInputs()) {
    Operation *maker = input.getDefiningOp();
    if (maker && maker->getBlock() == op->getBlock() && (!latest || latest->isBeforeInBlock(maker)))
      latest = maker;
  }
  if (!latest)
    return;
  Operation *&last = placed.try_emplace(latest, latest).first->second;
  op->moveAfter(last);
  last = op;
}

namespace {
/// All-reduces of one block that may become one: they share kind, mesh, axes and element type.
class Bucket {
public:
  bool fits(spmd::AllReduceOp op, int64_t limit) const {
    return members.empty() || bytes + payloadBytes(op) <= limit;
  }
  void add(spmd::AllReduceOp op) {
    members.insert(op);
    bytes += payloadBytes(op);
  }
  bool contains(spmd::AllReduceOp op) const { return members.contains(op); }
  /// Replaces the members by one collective at the last of them.
  void issue();

private:
  llvm::SetVector<spmd::AllReduceOp> members;
  int64_t bytes = 0;
};

using Key = std::tuple<ptl::FoldKind, Attribute, Attribute, Type>;

struct CombineAllReduces : comm::impl::CombineAllReducesBase<CombineAllReduces> {
  using CombineAllReducesBase::CombineAllReducesBase;
  void runOnOperation() override {
    int64_t limit = bucketBytes;
    if (auto plan = getOperation()->getAttrOfType<DictionaryAttr>("ptl.plan"))
      if (auto bucket = plan.getAs<IntegerAttr>("bucket"))
        limit = bucket.getInt();
    programs = axisOfPrograms(getOperation());
    getOperation()->walk([&](Block *block) {
      DenseMap<Operation *, Operation *> placed;
      for (auto op : llvm::to_vector(block->getOps<spmd::AllReduceOp>()))
        if (!spmd::isAllReduceOver(op, programs))
          hoist(op, placed);
      combine(*block, limit);
    });
  }
  void combine(Block &block, int64_t limit);

  StringAttr programs; ///< an axis whose ranks run other programs, or null
};
} // namespace

static Key keyOf(spmd::AllReduceOp op) {
  return {op.getKind(), op.getMeshAttr(), op.getAxes(),
          cast<RankedTensorType>(op.getInputs().front().getType()).getElementType()};
}

/// The ledger of what `op` finishes: one entry per operand.
static void addLedger(spmd::AllReduceOp op, SmallVectorImpl<Attribute> &members) {
  if (ArrayAttr own = op.getMembersAttr()) {
    members.append(own.begin(), own.end());
    return;
  }
  Builder builder(op.getContext());
  auto entry =
      spmd::MemberAttr::get(op.getContext(), builder.getStringAttr(lineOf(op.getLoc())),
                            op.getReasonAttr() ? op.getReasonAttr() : builder.getStringAttr(""),
                            op->getAttrOfType<StringAttr>(spmd::kInsteadOf));
  members.append(op.getInputs().size(), entry);
}

void Bucket::issue() {
  if (members.size() < 2) {
    members.clear();
    bytes = 0;
    return;
  }
  SmallVector<Value> inputs;
  SmallVector<Location> places;
  SmallVector<Attribute> ledger;
  for (spmd::AllReduceOp member : members) {
    llvm::append_range(inputs, member.getInputs());
    places.push_back(member.getLoc());
    addLedger(member, ledger);
  }
  spmd::AllReduceOp last = members.back();
  OpBuilder builder(last);
  auto reason = builder.getStringAttr(Twine(inputs.size()) + " values travel together");
  auto merged = spmd::AllReduceOp::create(
      builder, builder.getFusedLoc(places), ValueRange(inputs).getTypes(), last.getKindAttr(),
      inputs, last.getMeshAttr(), last.getAxes(), reason, builder.getArrayAttr(ledger));
  unsigned next = 0;
  for (spmd::AllReduceOp member : members) {
    unsigned count = member.getNumResults();
    member->replaceAllUsesWith(merged.getResults().slice(next, count));
    next += count;
    member->erase();
  }
  members.clear();
  bytes = 0;
}

void CombineAllReduces::combine(Block &block, int64_t limit) {
  llvm::MapVector<Key, Bucket> open;
  auto issueReadBy = [&](Operation &op) {
    op.walk([&](Operation *reader) {
      for (Value operand : reader->getOperands())
        if (auto made = operand.getDefiningOp<spmd::AllReduceOp>())
          if (auto bucket = open.find(keyOf(made));
              bucket != open.end() && bucket->second.contains(made))
            bucket->second.issue();
    });
  };
  for (Operation &op : llvm::make_early_inc_range(block)) {
    issueReadBy(op);
    auto allReduce = dyn_cast<spmd::AllReduceOp>(op);
    if (!allReduce || allReduce.getInputs().empty() || spmd::isAllReduceOver(&op, programs))
      continue;
    Bucket &bucket = open[keyOf(allReduce)];
    if (!bucket.fits(allReduce, limit))
      bucket.issue();
    bucket.add(allReduce);
  }
  for (auto &[key, bucket] : open)
    bucket.issue();
}
