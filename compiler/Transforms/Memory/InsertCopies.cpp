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

/// True if the kernel can add result `number` to what is there.
static bool canAccumulate(rt::KernelOp kernel, unsigned number) {
  if (kernel.getKind() == rt::KernelKind::Matmul)
    return true;
  if (kernel.getKind() != rt::KernelKind::Rows)
    return false;
  Operation *maker = kernel.getBody().front().getTerminator()->getOperand(number).getDefiningOp();
  while (maker && isa<ptl::BroadcastOp, ptl::StopGradientOp>(maker))
    maker = maker->getOperand(0).getDefiningOp();
  if (auto scatter = dyn_cast_or_null<ptl::ScatterAddOp>(maker))
    return !scatter.getInit();
  if (auto reduce = dyn_cast_or_null<ptl::ReduceOp>(maker))
    return reduce.getKind() == ptl::FoldKind::Sum;
  return true;
}

static void markAccumulate(rt::KernelOp kernel, unsigned number) {
  SmallVector<bool> flags(kernel.getNumResults(), false);
  if (auto old = kernel->getAttrOfType<DenseBoolArrayAttr>(memory::kAccumulate))
    flags.assign(old.asArrayRef().begin(), old.asArrayRef().end());
  flags[number] = true;
  kernel->setAttr(memory::kAccumulate, DenseBoolArrayAttr::get(kernel.getContext(), flags));
}

namespace {
/// Copies for values that leave a block for a place of their own.
class Leaving {
public:
  explicit Leaving(Operation *terminator) : terminator(terminator) {}

  /// Gives operand `number` a value that is made in this block and leaves once.
  void own(unsigned number) {
    Value value = terminator->getOperand(number);
    Value root = memory::viewRoot(value);
    Operation *maker = root.getDefiningOp();
    bool made = maker && maker->getBlock() == terminator->getBlock() && isa<rt::KernelOp>(maker);
    if (!made || !roots.insert(root))
      copy(number);
  }

  /// The same, for a sum over several runs of the block.
  void add(unsigned number) {
    Value value = terminator->getOperand(number);
    auto kernel = value.getDefiningOp<rt::KernelOp>();
    bool direct = kernel && kernel->getBlock() == terminator->getBlock() && value.hasOneUse() &&
                  canAccumulate(kernel, cast<OpResult>(value).getResultNumber());
    if (!direct)
      copy(number);
    auto result = cast<OpResult>(terminator->getOperand(number));
    markAccumulate(cast<rt::KernelOp>(result.getOwner()), result.getResultNumber());
  }

private:
  void copy(unsigned number) {
    Value value = terminator->getOperand(number);
    OpBuilder builder(terminator);
    terminator->setOperand(number,
                           kernel::createCopy(builder, value.getLoc(), value, value.getType()));
  }
  Operation *terminator;
  llvm::SetVector<Value> roots;
};
} // namespace

static void copyMovingReshapes(func::FuncOp function, const memory::Layouts &layouts) {
  function.walk([&](ptl::ReshapeOp op) {
    if (!op->getParentOfType<rt::KernelOp>() && !layouts.isView(op))
      kernel::outline(op.getOperation(), rt::KernelKind::Rows,
                      kernel::leadingDims(op.getResult().getType()));
  });
}

LogicalResult memory::insertCopies(func::FuncOp function, const Layouts &layouts) {
  copyMovingReshapes(function, layouts);
  function.walk([&](spmd::AllReduceOp op) {
    OpBuilder builder(op);
    for (OpOperand &operand : op->getOpOperands()) {
      Value root = viewRoot(operand.get());
      bool ours = root == operand.get() && root.getDefiningOp() && operand.get().hasOneUse() &&
                  root.getParentBlock() == op->getBlock() &&
                  !isa<ptl::MicrobatchOp>(root.getDefiningOp());
      if (!ours)
        operand.set(
            kernel::createCopy(builder, op.getLoc(), operand.get(), operand.get().getType()));
    }
  });
  // A piece of a field lies elsewhere in each micro-batch; a collective reads one place.
  function.walk([&](Operation *op) {
    if (!isa<spmd::AllGatherOp, spmd::ReduceScatterOp>(op) ||
        !isa_and_nonnull<ptl::MicrobatchOp>(viewRoot(op->getOperand(0)).getDefiningOp()))
      return;
    OpBuilder builder(op);
    Value whole = op->getOperand(0);
    op->setOperand(0, kernel::createCopy(builder, op->getLoc(), whole, whole.getType()));
  });
  function.walk([&](ptl::YieldOp op) {
    Leaving leaving(op);
    bool once = cast<ptl::AccumulateOp>(op->getParentOp()).getPieces() == 1;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      once ? leaving.own(i) : leaving.add(i);
  });
  return success();
}
