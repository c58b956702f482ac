//===- InsertCopies.cpp - One place for each value ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Memory/InsertCopies.h"

#include "compiler/Analysis/Kernel/BuildGraph.h"
#include "compiler/Analysis/Kernel/Outline.h"
#include "dialects/Spmd/Spmd.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace ptlc;

Value memory::viewRoot(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<ptl::ReshapeOp, ptl::StopGradientOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// The same through what folds in place.
static Value foldedRoot(Value value) {
  value = memory::viewRoot(value);
  if (auto wait = value.getDefiningOp<rt::WaitOp>())
    return foldedRoot(wait.getValues()[cast<OpResult>(value).getResultNumber()]);
  if (auto reduce = value.getDefiningOp<spmd::AllReduceOp>())
    return foldedRoot(reduce.getInputs()[cast<OpResult>(value).getResultNumber()]);
  return value;
}

/// The flags of `maker`, one per result.
static SmallVector<bool> accumulateFlags(Operation *maker) {
  SmallVector<bool> flags(maker->getNumResults(), false);
  if (auto old = maker->getAttrOfType<DenseBoolArrayAttr>(memory::kAccumulate))
    flags.assign(old.asArrayRef().begin(), old.asArrayRef().end());
  return flags;
}

static void markAccumulate(OpResult result) {
  Operation *maker = result.getOwner();
  SmallVector<bool> flags = accumulateFlags(maker);
  flags[result.getResultNumber()] = true;
  maker->setAttr(memory::kAccumulate, DenseBoolArrayAttr::get(maker->getContext(), flags));
}

/// True if the maker of a value can add it to what is there. A kernel in a loop over pieces has one
/// condition for all that it adds, so it must add nothing else.
static bool addsInPlace(OpResult result) {
  if (auto chunks = dyn_cast<rt::ChunksOp>(result.getOwner())) {
    Value inner = chunks.getBody().front().getTerminator()->getOperand(result.getResultNumber());
    return !chunks.isStacked(result.getResultNumber()) &&
           llvm::count(accumulateFlags(inner.getDefiningOp()), true) == 1;
  }
  auto kernel = dyn_cast<rt::KernelOp>(result.getOwner());
  return kernel && kernel::canAccumulate(kernel, result.getResultNumber());
}

namespace {
/// Copies for values that leave a block for a place of their own.
class Leaving {
public:
  explicit Leaving(Operation *terminator) : terminator(terminator) {}

  /// Gives operand `number` a value that is made in this block and leaves once.
  void own(unsigned number) {
    Value value = terminator->getOperand(number);
    // Slots of a pipeline are no place for a collective.
    bool isPhase = terminator->getParentOp()->hasAttr("rt.phase");
    Value root = isPhase ? memory::viewRoot(value) : foldedRoot(value);
    Operation *maker = root.getDefiningOp();
    bool made = maker && maker->getBlock() == terminator->getBlock() &&
                isa<rt::KernelOp, rt::ChunksOp>(maker);
    if (!made || !roots.insert(root))
      copy(number);
  }

  /// The same, for a sum over several runs of the block.
  void add(unsigned number) {
    Value value = terminator->getOperand(number);
    auto made = dyn_cast<OpResult>(value);
    bool direct = made && made.getOwner()->getBlock() == terminator->getBlock() &&
                  value.hasOneUse() && addsInPlace(made);
    if (!direct)
      copy(number);
    markAccumulate(cast<OpResult>(terminator->getOperand(number)));
  }

private:
  void copy(unsigned number) {
    Value value = terminator->getOperand(number);
    OpBuilder builder(terminator);
    // A part leaves its bucket at once, whose memory is free then.
    Operation *maker = value.getDefiningOp();
    auto wait = dyn_cast_or_null<rt::WaitOp>(maker);
    if (isa_and_nonnull<spmd::BucketReduceScatterOp>(wait ? wait.getCollective() : maker) &&
        maker->getBlock() == terminator->getBlock())
      builder.setInsertionPointAfter(maker);
    terminator->setOperand(number,
                           kernel::createCopy(builder, value.getLoc(), value, value.getType()));
  }
  Operation *terminator;
  llvm::SetVector<Value> roots;
};
} // namespace

/// Whether the value leaves a phase of a pipeline, and so may lie in a slot.
static bool leavesPhase(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    if (isa<ptl::ReshapeOp, ptl::StopGradientOp>(user))
      return leavesPhase(user->getResult(0));
    return isa<ptl::YieldOp>(user) && user->getParentOp()->hasAttr("rt.phase");
  });
}

/// A piece of a field and a value in a slot lie elsewhere in each micro-batch; a collective reads
/// one place.
static bool moves(Value root) {
  Operation *maker = root.getDefiningOp();
  return isa_and_nonnull<ptl::MicrobatchOp, rt::ReceiveOp>(maker) ||
         (maker && maker->hasAttr("rt.phase")) || leavesPhase(root);
}

static void copyMovingReshapes(func::FuncOp function, const memory::Layouts &layouts) {
  function.walk([&](ptl::ReshapeOp op) {
    if (!op->getParentOfType<rt::KernelOp>() && !layouts.isView(op))
      kernel::outline(op.getOperation(), rt::KernelKind::Rows,
                      kernel::leadingDims(op.getResult().getType()));
  });
}

LogicalResult memory::insertCopies(func::FuncOp function, const Layouts &layouts) {
  copyMovingReshapes(function, layouts);
  function.walk([&](Operation *op) {
    if (!isa<spmd::AllReduceOp, spmd::BucketReduceScatterOp>(op))
      return;
    OpBuilder builder(op);
    for (OpOperand &operand : op->getOpOperands()) {
      Value root = viewRoot(operand.get());
      bool ours = root == operand.get() && root.getDefiningOp() && operand.get().hasOneUse() &&
                  root.getParentBlock() == op->getBlock() &&
                  !isa<ptl::MicrobatchOp>(root.getDefiningOp());
      if (!ours)
        operand.set(
            kernel::createCopy(builder, op->getLoc(), operand.get(), operand.get().getType()));
    }
  });
  // A bucket of weights is made of the arguments themselves, one of values is made of copies.
  function.walk([&](spmd::BucketSliceOp op) {
    OpBuilder builder(op);
    for (OpOperand &operand : op->getOpOperands())
      if (!isa<BlockArgument>(operand.get()))
        operand.set(
            kernel::createCopy(builder, op.getLoc(), operand.get(), operand.get().getType()));
  });
  function.walk([&](Operation *op) {
    if (!isa<spmd::AllGatherOp, spmd::ReduceScatterOp, spmd::AllToAllOp, spmd::PermuteOp>(op) ||
        !moves(viewRoot(op->getOperand(0))))
      return;
    OpBuilder builder(op);
    Value whole = op->getOperand(0);
    op->setOperand(0, kernel::createCopy(builder, op->getLoc(), whole, whole.getType()));
  });
  // Loops over pieces first: their kernels' flags decide what the loops around them can add up.
  function.walk([&](rt::ChunksOp op) {
    Leaving leaving(op.getBody().front().getTerminator());
    for (unsigned i = 0; i < op.getNumResults(); ++i)
      op.isStacked(i) ? leaving.own(i) : leaving.add(i);
  });
  function.walk([&](ptl::YieldOp op) {
    Leaving leaving(op);
    auto loop = cast<ptl::AccumulateOp>(op->getParentOp());
    bool once = loop.getPieces() == 1 && !loop->hasAttr("ptl.over_batches");
    auto phase = loop->getAttrOfType<rt::PhaseAttr>("rt.phase");
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      once || (phase && phase.getPool(i) >= 0) ? leaving.own(i) : leaving.add(i);
  });
  return success();
}
