//===- FinishInLoop.cpp - Gradients are summed in the only micro-batch ----===//
// SPDX-License-Identifier: Apache-2.0
//
// Sums of gradients over several micro-batches are known in the last one, and stay
// behind the loop (StartCollectives.cpp starts them before). With one micro-batch they
// need not stand there: what they read is known in the loop, and is the same.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Comm/Passes.h"

#include "compiler/Support/Stages.h"
#include "dialects/Ptl/Loops.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ptlc::comm {
#define GEN_PASS_DEF_FINISHINLOOP
#include "compiler/Transforms/Comm/Passes.h.inc"
} // namespace ptlc::comm
using namespace mlir;
using namespace ptlc;

namespace {
/// Moves what finishes sums of a loop into it.
class Finisher {
public:
  explicit Finisher(ptl::AccumulateOp loop) : loop(loop) {
    for (auto [result, path] : llvm::zip_equal(loop->getResults(), ptl::gradientPaths(loop)))
      marks[result] = path;
  }
  void run();

private:
  Attribute noMark() { return StringAttr::get(loop.getContext(), ""); }
  bool isInside(Operation *op) { return op->getBlock() == &loop.getBody().front(); }
  bool canMove(Operation *op);
  void move(Operation *op);
  void rebuild();

  ptl::AccumulateOp loop;
  SmallVector<Operation *> moved;
  DenseMap<Value, Attribute> marks; ///< whose gradient a result of the loop is
};
} // namespace

/// Whether all that `op` reads is a sum of the loop, which nothing else reads.
bool Finisher::canMove(Operation *op) {
  return isa<spmd::AllReduceOp, spmd::BucketReduceScatterOp, spmd::MaskOp>(op) &&
         op->getNumOperands() > 0 && llvm::all_of(op->getOperands(), [&](Value operand) {
           Operation *maker = operand.getDefiningOp();
           return maker && operand.hasOneUse() && (maker == loop || isInside(maker));
         });
}

void Finisher::move(Operation *op) {
  Operation *end = loop.getBody().front().getTerminator();
  bool isOne = op->getNumOperands() == 1 && op->getNumResults() == 1 &&
               op->getOperand(0).getType() == op->getResult(0).getType();
  for (Value result : op->getResults())
    marks[result] = isOne ? marks.lookup(op->getOperand(0)) : noMark();
  for (OpOperand &operand : op->getOpOperands())
    if (operand.get().getDefiningOp() == loop)
      operand.set(end->getOperand(cast<OpResult>(operand.get()).getResultNumber()));
  op->moveBefore(end);
  moved.push_back(op);
}

/// Makes the loop yield what is read behind it.
void Finisher::rebuild() {
  Operation *end = loop.getBody().front().getTerminator();
  SmallVector<Value> yielded, read;
  for (auto [inner, result] : llvm::zip_equal(end->getOperands(), loop->getResults()))
    if (!result.use_empty()) {
      yielded.push_back(inner);
      read.push_back(result);
    }
  for (Operation *op : moved)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !isInside(user); })) {
        yielded.push_back(result);
        read.push_back(result);
      }
  SmallVector<Attribute> paths;
  for (Value value : read)
    paths.push_back(marks.lookup(value));
  ptl::AccumulateOp old = std::exchange(loop, ptl::withResults(loop, yielded, paths));
  for (auto [value, result] : llvm::zip_equal(read, loop->getResults()))
    value.replaceUsesWithIf(result, [&](OpOperand &use) { return !isInside(use.getOwner()); });
  old.erase();
}

void Finisher::run() {
  Operation *next = nullptr;
  for (Operation *op = loop->getNextNode(); op; op = next) {
    next = op->getNextNode();
    if (canMove(op))
      move(op);
  }
  if (!moved.empty())
    rebuild();
}

namespace {
struct FinishInLoop : comm::impl::FinishInLoopBase<FinishInLoop> {
  void runOnOperation() override {
    auto plan = getOperation()->getAttrOfType<DictionaryAttr>("ptl.plan");
    auto overlap = plan ? plan.getAs<BoolAttr>("overlap") : BoolAttr();
    auto step = getOperation().lookupSymbol<func::FuncOp>("step");
    // The phases of a pipeline are loops that have been cut already.
    if (!overlap || !overlap.getValue() || !step || getOperation()->hasAttr(kPipeRank))
      return;
    for (auto loop : llvm::to_vector(step.getBody().front().getOps<ptl::AccumulateOp>()))
      if (loop.getPieces() == 1 && !loop->hasAttr("ptl.over_batches"))
        Finisher(loop).run();
  }
};
} // namespace
