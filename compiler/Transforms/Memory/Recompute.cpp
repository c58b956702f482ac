//===- Recompute.cpp - Values that the backward computes again ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// For each segment of the forward (a block of a stack, say) a minimum cut chooses
// the values to keep, among those that the rules don't let be computed again. The
// operations between these and what the backward reads are copied in front of its
// first reader; kept values reach them through barriers. The last segment comes
// first, since what it keeps of an earlier one is there for that one, too.
//
// It is sound since operations are pure in the SPMD sense (every rank copies the same
// collectives into the same place) and random numbers follow from places, not from
// order. A copy has the bits of the original: elements don't depend on the kernel
// that computes them, a product or an attention is the same call, and folds, of which
// only this can't be said, are never copied. Linear in operations, but for the cuts.
//===----------------------------------------------------------------------===//
#include "compiler/Support/Stages.h"
#include "compiler/Transforms/Memory/Forward.h"
#include "compiler/Transforms/Memory/MinCut.h"
#include "compiler/Transforms/Memory/Passes.h"
#include "dialects/Interfaces/Cost.h"
#include "dialects/Rt/Rt.h"
#include "dialects/Ptl/ByteSize.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace ptlc::memory {
#define GEN_PASS_DEF_RECOMPUTE
#include "compiler/Transforms/Memory/Passes.h.inc"
} // namespace ptlc::memory

using namespace mlir;
using namespace ptlc;
using namespace ptlc::memory;

static int64_t bytesOf(Value value) { return ptl::getByteSize(value.getType()); }

namespace {
/// What of one segment is kept, and what is computed again.
struct Choice {
  llvm::SetVector<Value> kept;             ///< read by what is computed again
  llvm::SetVector<Operation *> operations; ///< to compute again, in any order
};

class Recomputation {
public:
  explicit Recomputation(Forward &forward) : forward(forward), body(forward.block()) {}

  /// Returns an entry of `rt.recomputed` for each segment of which something is computed again.
  SmallVector<Attribute> run();

private:
  class Cut;
  void findNeeded();
  Choice choose(StringRef segment, ArrayRef<Operation *> operations);
  void collect(Value value, const DenseSet<Value> &cut, Choice &choice) const;
  int64_t costOf(Value value) const;
  bool isThere(Value value) const;
  Operation *firstReader(const Choice &choice) const;
  Attribute copy(StringRef segment, const Choice &choice);

  Forward &forward;
  Block &body;
  DenseSet<Value> needed; ///< by the backward
  DenseSet<Value> stored; ///< kept, whatever is decided now
  DenseSet<Operation *> copies;
};
} // namespace

/// Values of the forward that the backward reads. Those that another segment's forward reads, too,
/// are kept: their own segment would have to be computed again too early.
void Recomputation::findNeeded() {
  for (Operation &op : body)
    if (forward.contains(&op))
      for (Value result : op.getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) {
              return !forward.contains(body.findAncestorOpInBlock(*user)) &&
                     !(isa<ptl::YieldOp>(user) && isFreeOrView(&op));
            }))
          (forward.segmentOf(&op).empty() || forward.leavesSegment(result) ? stored : needed)
              .insert(result);
}

/// True for what lies in memory anyway: arguments, pieces of data, and what is kept.
bool Recomputation::isThere(Value value) const {
  Operation *maker = value.getDefiningOp();
  return !maker || maker->getBlock() != &body || isa<ptl::MicrobatchOp>(maker) ||
         stored.contains(value);
}

/// In 1/64 bytes. Of equally large values those are cheaper that the forward has to store: results
/// of products and of collectives, and what these or several operations read.
int64_t Recomputation::costOf(Value value) const {
  Operation *maker = value.getDefiningOp();
  if (maker && isFreeOrView(maker))
    return MinCut::kInfinite;
  auto isFused = [](Operation *op) {
    return isa<ptl::ElementwiseOp, ptl::RandomOp, ptl::ReduceOp>(op) || isFreeOrView(op);
  };
  unsigned readers = 0;
  bool isStored = maker && !isFused(maker);
  for (Operation *user : value.getUsers())
    if (forward.contains(user)) {
      ++readers;
      isStored |= !isFused(user);
    }
  return bytesOf(value) * (isStored || readers > 1 ? 64 : 65);
}

/// Follows what a needed value is computed from down to what is kept.
void Recomputation::collect(Value value, const DenseSet<Value> &cut, Choice &choice) const {
  SmallVector<Value> stack = {value};
  while (!stack.empty()) {
    Value current = stack.pop_back_val();
    Operation *maker = current.getDefiningOp();
    if (cut.contains(current) || isThere(current))
      choice.kept.insert(current);
    else if (choice.operations.insert(maker))
      llvm::append_range(stack, maker->getOperands());
  }
}

/// The graph of one segment's values for the minimum cut.
class Recomputation::Cut {
public:
  Cut(const Recomputation &owner, StringRef segment) : owner(owner), segment(segment) {}

  /// Adds a value with all that it is computed from inside of the segment.
  unsigned add(Value value);
  void need(Value value) { graph.addNeeded(add(value)); }
  DenseSet<Value> solve();

private:
  const Recomputation &owner;
  StringRef segment;
  MinCut graph;
  DenseMap<Value, unsigned> numbers;
  SmallVector<Value> values;
};

unsigned Recomputation::Cut::add(Value value) {
  auto [it, isNew] = numbers.try_emplace(value, 0);
  if (!isNew)
    return it->second;
  unsigned node = it->second = graph.addValue(owner.costOf(value));
  values.push_back(value);
  Operation *maker = value.getDefiningOp();
  bool isFree = isFreeOrView(maker), isInside = owner.forward.segmentOf(maker) == segment;
  if (!isFree && !(isInside && owner.forward.mayRepeat(maker))) {
    graph.addRoot(node);
    return node;
  }
  for (Value operand : maker->getOperands())
    if (!owner.isThere(operand))
      graph.addUse(add(operand), node);
  return node;
}

DenseSet<Value> Recomputation::Cut::solve() {
  DenseSet<Value> kept;
  llvm::BitVector chosen = graph.solve();
  for (unsigned index : chosen.set_bits())
    kept.insert(values[index]);
  return kept;
}

Choice Recomputation::choose(StringRef segment, ArrayRef<Operation *> operations) {
  Cut cut(*this, segment);
  SmallVector<Value> wanted;
  for (Operation *op : operations)
    for (Value result : op->getResults())
      if (!isThere(result)) {
        cut.add(result);
        if (needed.contains(result)) {
          cut.need(result);
          wanted.push_back(result);
        }
      }
  DenseSet<Value> kept = cut.solve();
  Choice choice;
  for (Value value : wanted)
    if (!kept.contains(value))
      collect(value, kept, choice);
  stored.insert(kept.begin(), kept.end());
  return choice;
}

/// The first operation of the backward that reads what is computed again, or null.
Operation *Recomputation::firstReader(const Choice &choice) const {
  Operation *first = nullptr;
  for (Operation *op : choice.operations)
    for (Operation *user : op->getUsers()) {
      Operation *reader = body.findAncestorOpInBlock(*user);
      if (!forward.contains(reader) && !copies.contains(reader) && !isFreeOrView(op) &&
          (!first || reader->isBeforeInBlock(first)))
        first = reader;
    }
  return first;
}

/// What is computed again belongs to the backward of its stage: of S stages, part p becomes 2S - p.
static void placeInBackward(Operation *copy, Operation *reader) {
  auto part = copy->getAttrOfType<IntegerAttr>(kPart);
  if (!part)
    return;
  auto stages = reader->getParentOfType<ModuleOp>()->getAttrOfType<IntegerAttr>(kStages);
  copy->setAttr(kPart, IntegerAttr::get(part.getType(), 2 * stages.getInt() - part.getInt()));
}

/// Copies the operations of a choice in front of the backward's first reader and makes the backward
/// read them.
Attribute Recomputation::copy(StringRef segment, const Choice &choice) {
  Operation *place = firstReader(choice);
  if (!place)
    return {};
  OpBuilder builder(place);
  IRMapping map;
  int64_t flops = 0, written = 0;
  for (Value value : choice.kept) {
    // A constant is no value in memory.
    if (Operation *maker = value.getDefiningOp(); maker && isFreeOrView(maker))
      continue;
    auto barrier =
        rt::OptimizationBarrierOp::create(builder, value.getLoc(), value.getType(), segment, value);
    if (Attribute part = place->getAttr(kPart))
      barrier->setAttr(kPart, part);
    copies.insert(barrier);
    map.map(value, barrier.getResult());
  }
  SmallVector<Operation *> order(choice.operations.begin(), choice.operations.end());
  llvm::sort(order, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : order) {
    Operation *clone = builder.clone(*op, map);
    clone->removeAttr("ptl.name");
    placeInBackward(clone, place);
    if (auto reason = clone->getAttrOfType<StringAttr>("reason"))
      clone->setAttr(
          "reason", builder.getStringAttr(reason.getValue() + ", computed again for the backward"));
    copies.insert(clone);
    if (auto cost = dyn_cast<CostInterface>(clone))
      flops += cost.getFlops();
    if (!isFreeOrView(clone))
      for (Value result : clone->getResults())
        written += bytesOf(result);
  }
  auto redirect = [&](Value value) {
    Value copy = map.lookupOrDefault(value);
    value.replaceUsesWithIf(copy, [&](OpOperand &use) {
      Operation *reader = body.findAncestorOpInBlock(*use.getOwner());
      return !forward.contains(reader) && !copies.contains(reader) &&
             !reader->isBeforeInBlock(place);
    });
  };
  for (Value value : choice.kept)
    if (value.getParentBlock() == &body)
      redirect(value);
  for (Operation *op : order)
    for (Value result : op->getResults())
      redirect(result);
  auto entry = [&](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  return builder.getDictionaryAttr({builder.getNamedAttr("part", builder.getStringAttr(segment)),
                                    entry("flops", flops), entry("written", written)});
}

SmallVector<Attribute> Recomputation::run() {
  findNeeded();
  SmallVector<Attribute> list;
  for (auto &[segment, operations] : llvm::reverse(forward.segments())) {
    Choice choice = choose(segment, operations);
    if (Attribute entry = copy(segment, choice))
      list.push_back(entry);
  }
  return list;
}

/// The number of totals of a batch, which come first in what a loop of the step yields.
static unsigned totalsOf(func::FuncOp step) {
  unsigned count = 0;
  for (unsigned i = 0; i < step.getNumResults(); ++i) {
    auto role = step.getResultAttrOfType<StringAttr>(i, "ptl.role");
    count += role && (role.getValue() == "loss" || role.getValue() == "metric");
  }
  return count;
}

namespace {
struct Recompute : memory::impl::RecomputeBase<Recompute> {
  void runOnOperation() override {
    RematRules rules(getOperation());
    auto step = getOperation().lookupSymbol<func::FuncOp>("step");
    if (rules.empty() || !step)
      return;
    SmallVector<Attribute> recomputed;
    for (auto loop : step.getBody().getOps<ptl::AccumulateOp>())
      if (loop->hasAttr("ptl.grad")) {
        Forward forward(loop.getBody().front(), totalsOf(step), rules);
        forward.expandComposites();
        llvm::append_range(recomputed, Recomputation(forward).run());
      }
    getOperation()->setAttr("rt.recomputed", ArrayAttr::get(&getContext(), recomputed));
  }
};
} // namespace
