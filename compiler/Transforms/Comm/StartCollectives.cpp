//===- StartCollectives.cpp - Collectives beside kernels ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each block by itself, in three steps. First starts: sums of gradients stand
// behind what makes the last operand; gathers of weights go up to the first use of
// the gather before them, as long as about one bucket more is whole there. Then ends: right in
// front of the first use, or of the next scatter, so that at most two buckets of gradients are
// whole. A collective with a kernel between the two is split; others stay as they are. Sums over
// several micro-batches start in the last one, if a kernel is left there.
//
// Moving a collective is sound because every rank runs the same block: see "SPMD
// purity" in dialects/doc/SpmdRationale.md. All ranks start, and wait, in the order
// of the block. The cost is linear in operations and in pairs of gathers of a block.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Comm/Passes.h"

#include "compiler/Support/Stages.h"
#include "dialects/Rt/InLast.h"
#include "dialects/Ptl/ByteSize.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ptlc::comm {
#define GEN_PASS_DEF_STARTCOLLECTIVES
#include "compiler/Transforms/Comm/Passes.h.inc"
} // namespace ptlc::comm
using namespace mlir;
using namespace ptlc;

/// A layer's weights may be in several buckets; a small one beside a large one has so many parts of
/// its size at most.
static constexpr int64_t kSmall = 8;

static bool isWork(Operation *op) { return isa<rt::KernelOp, rt::ChunksOp>(op); }

static bool isUpdate(Operation *op) {
  auto kernel = dyn_cast<rt::KernelOp>(op);
  return kernel && kernel.getKind() == rt::KernelKind::Flat;
}

static bool isNorm(Operation *op) {
  return isa<ptl::GlobalNormOp, spmd::SquareSumOp, spmd::RootOp>(op);
}

static int64_t bytesOf(spmd::BucketAllGatherOp gather) {
  return ptl::getByteSize(gather.getOutputs().getTypes());
}

namespace {
/// The collectives of one block.
class Starter {
public:
  /// A gather may go up where not more than `room` bytes more are whole than at its place.
  /// Collectives over `pipelineAxis`, if there is one, stay as they are.
  Starter(Block &block, int64_t room, StringAttr pipelineAxis)
      : block(block), room(room), pipelineAxis(pipelineAxis) {}
  void run();

private:
  void hoistSums();
  void hoistGathers();
  bool canStart(Operation *op) const;
  bool canStartInLast(Operation *op) const;
  Operation *makerOf(ValueRange operands) const;
  Operation *firstUse(Operation *op) const;
  Operation *lastUse(Operation *op) const;
  Operation *endOf(Operation *op, bool inUpdate) const;
  void split(Operation *op, Operation *end);

  Block &block;
  int64_t room;
  StringAttr pipelineAxis;
};

struct StartCollectives : comm::impl::StartCollectivesBase<StartCollectives> {
  void runOnOperation() override;
};
} // namespace

/// What stands last of the operations of the block that make `operands`, or null.
Operation *Starter::makerOf(ValueRange operands) const {
  Operation *latest = nullptr;
  for (Value operand : operands) {
    Operation *maker = operand.getDefiningOp();
    if (maker && maker->getBlock() == &block && (!latest || latest->isBeforeInBlock(maker)))
      latest = maker;
  }
  return latest;
}

/// The first operation of the block that reads a result: the terminator if none does.
Operation *Starter::firstUse(Operation *op) const {
  Operation *first = block.getTerminator();
  for (Operation *user : op->getUsers())
    if (Operation *outer = block.findAncestorOpInBlock(*user); outer->isBeforeInBlock(first))
      first = outer;
  return first;
}

Operation *Starter::lastUse(Operation *op) const {
  Operation *last = op;
  for (Operation *user : op->getUsers())
    if (Operation *outer = block.findAncestorOpInBlock(*user); last->isBeforeInBlock(outer))
      last = outer;
  return last;
}

/// Sums go behind what makes their last operand, and stay in order there.
void Starter::hoistSums() {
  DenseMap<Operation *, Operation *> placed; ///< the last one behind each maker
  for (Operation &op : llvm::make_early_inc_range(block)) {
    Operation *maker = makerOf(op.getOperands());
    if (!canStart(&op) || isa<spmd::BucketAllGatherOp>(op) || !maker)
      continue;
    Operation *&last = placed.try_emplace(maker, maker).first->second;
    op.moveAfter(last);
    last = &op;
  }
}

/// Gathers go up to the first use of the gather before them, if there is room for those that are
/// still whole there.
void Starter::hoistGathers() {
  SmallVector<spmd::BucketAllGatherOp> before;
  spmd::BucketAllGatherOp previous;
  for (auto gather : llvm::to_vector(block.getOps<spmd::BucketAllGatherOp>())) {
    Operation *limit = makerOf(gather->getOperands()); // the gather stays behind it
    auto stayBehind = [&](Operation *op) {
      if (!limit || limit->isBeforeInBlock(op))
        limit = op;
    };
    if (previous)
      stayBehind(previous);
    llvm::stable_sort(before, [&](spmd::BucketAllGatherOp a, spmd::BucketAllGatherOp b) {
      return lastUse(b)->isBeforeInBlock(lastUse(a));
    });
    int64_t more = 0; // bytes that are whole besides the gather, but not at its present place
    for (spmd::BucketAllGatherOp other : before) {
      more += lastUse(other)->isBeforeInBlock(gather) ? bytesOf(other) : 0;
      if (more > room) {
        stayBehind(lastUse(other));
        break;
      }
    }
    Operation *wanted = previous ? firstUse(previous) : &block.front();
    if (wanted->isBeforeInBlock(gather) && (!limit || limit->isBeforeInBlock(wanted)))
      gather->moveBefore(wanted);
    else if (limit && limit->isBeforeInBlock(gather))
      gather->moveAfter(limit);
    before.push_back(gather);
    previous = gather;
  }
}

/// Whether a collective may be split: it works in place, or reads a weight.
bool Starter::canStart(Operation *op) const {
  if (auto reduce = dyn_cast<spmd::AllReduceOp>(op))
    return !reduce.getInputs().empty() &&
           !llvm::is_contained(reduce.getAxes().getNames(), pipelineAxis);
  // The part doesn't lie in the bucket if it is summed further.
  if (auto scatter = dyn_cast<spmd::BucketReduceScatterOp>(op))
    return llvm::none_of(scatter.getPart().getUsers(), llvm::IsaPred<spmd::AllReduceOp>);
  return isa<spmd::BucketAllGatherOp>(op);
}

/// Whether `op` reads sums over several micro-batches, of which the last has kernels to run beside.
bool Starter::canStartInLast(Operation *op) const {
  Operation *maker = rt::lastMaker(op);
  auto loop = maker ? dyn_cast<ptl::AccumulateOp>(maker->getParentOp()) : ptl::AccumulateOp();
  if (!loop || loop.getPieces() == 1 || loop->hasAttr("ptl.over_batches") ||
      loop->hasAttr("rt.phase") || loop->getBlock() != &block ||
      !llvm::all_of(op->getOperands(), [](Value operand) { return operand.hasOneUse(); }))
    return false;
  for (Operation *at = maker->getNextNode(); at; at = at->getNextNode())
    if (isWork(at))
      return true;
  return false;
}

/// What the collective must be finished in front of. In the step's own block that is the end of a
/// stage function, too: loops, norms and the update have functions of their own.
Operation *Starter::endOf(Operation *op, bool inUpdate) const {
  Operation *end = firstUse(op);
  for (Operation *at = op->getNextNode(); at != end; at = at->getNextNode()) {
    if (isa<ptl::AccumulateOp>(at) || isNorm(at) || (isUpdate(at) && !inUpdate))
      return at;
    if (isa<spmd::BucketReduceScatterOp>(op) && isa<spmd::BucketReduceScatterOp>(at))
      return at;
    // An update writes over the weights that it reads.
    bool overwrites = isUpdate(at) && llvm::any_of(op->getOperands(), [&](Value operand) {
                        return llvm::is_contained(at->getOperands(), operand);
                      });
    if (overwrites)
      return at;
  }
  return end;
}

void Starter::split(Operation *op, Operation *end) {
  OpBuilder builder(end);
  SmallVector<Value> kept;
  if (isa<spmd::BucketAllGatherOp>(op))
    kept.push_back(op->getOperand(0));
  auto wait =
      rt::WaitOp::create(builder, op->getLoc(), op->getResultTypes(), op->getResults(), kept);
  op->setAttr(rt::kStarted, builder.getUnitAttr());
  for (auto [value, result] : llvm::zip_equal(op->getResults(), wait.getResults()))
    value.replaceAllUsesExcept(result, wait);
}

void Starter::run() {
  hoistSums();
  hoistGathers();
  bool inUpdate = false;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (isUpdate(&op) || isNorm(&op) || isa<ptl::AccumulateOp>(op))
      inUpdate = isUpdate(&op);
    if (!canStart(&op))
      continue;
    Operation *end = endOf(&op, inUpdate);
    bool inLast = canStartInLast(&op), worksMeanwhile = inLast;
    for (Operation *at = op.getNextNode(); at != end; at = at->getNextNode())
      worksMeanwhile |= isWork(at);
    if (worksMeanwhile)
      split(&op, end);
    if (inLast)
      op.setAttr(rt::kInLast, UnitAttr::get(op.getContext()));
  }
}

void StartCollectives::runOnOperation() {
  auto plan = getOperation()->getAttrOfType<DictionaryAttr>("ptl.plan");
  if (!plan || !plan.getAs<BoolAttr>("overlap") || !plan.getAs<BoolAttr>("overlap").getValue())
    return;
  DictionaryAttr pipeline = pipelineOf(getOperation());
  auto axis = pipeline ? pipeline.getAs<StringAttr>("axis") : StringAttr();
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    int64_t largest = 0;
    function.walk([&](spmd::BucketAllGatherOp op) { largest = std::max(largest, bytesOf(op)); });
    int64_t room = largest + largest / kSmall;
    Block &own = function.getBody().front();
    for (auto loop : own.getOps<ptl::AccumulateOp>())
      Starter(loop.getBody().front(), room, axis).run();
    Starter(own, room, axis).run();
  }
}
