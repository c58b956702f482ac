//===- Differentiate.cpp - Reverse-mode derivatives -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A value is active if it depends on one of the inputs through float values.
// Only active operands of operations whose results have gradients get gradients
// themselves, so the work is that of the part of the program that matters.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Grad/Differentiate.h"
#include "compiler/Support/Stages.h"
#include "dialects/Ptl/Emitter.h"

using namespace mlir;
using namespace ptlc;

namespace {
class Reverse {
public:
  Reverse(Block &block, ValueRange inputs) : block(block), builder(OpBuilder::atBlockEnd(&block)) {
    active.insert(inputs.begin(), inputs.end());
  }

  FailureOr<SmallVector<Value>> run(Value output, ValueRange inputs);

private:
  /// The backward of an operation runs where its forward ran: of S stages, what the gradient of
  /// part p is made of belongs to part 2S - p.
  void placeGradient(Operation *forward, Operation *before);
  /// Returns the forward operations in order, having marked what depends on the inputs.
  SmallVector<Operation *> markActive();
  LogicalResult visit(Operation *op);
  void add(Value value, Value gradient, Location loc);

  Block &block;
  OpBuilder builder;
  llvm::DenseSet<Value> active;
  llvm::DenseMap<Value, Value> gradients;
};
} // namespace

SmallVector<Operation *> Reverse::markActive() {
  SmallVector<Operation *> forward;
  for (Operation &op : block) {
    forward.push_back(&op);
    if (llvm::none_of(op.getOperands(), [&](Value operand) { return active.contains(operand); }))
      continue;
    for (Value result : op.getResults())
      if (ptl::isFloatTensor(result.getType()))
        active.insert(result);
  }
  return forward;
}

void Reverse::add(Value value, Value gradient, Location loc) {
  Value &sum = gradients[value];
  sum = sum ? ptl::Emitter(builder, loc).add(sum, gradient) : gradient;
}

void Reverse::placeGradient(Operation *forward, Operation *before) {
  auto part = forward->getAttrOfType<IntegerAttr>(kPart);
  if (!part)
    return;
  auto module = forward->getParentOfType<ModuleOp>();
  int64_t stages = module->getAttrOfType<IntegerAttr>(kStages).getInt();
  for (Operation *op = before->getNextNode(); op; op = op->getNextNode())
    op->setAttr(kPart, builder.getI64IntegerAttr(2 * stages - part.getInt()));
}

LogicalResult Reverse::visit(Operation *op) {
  SmallVector<Value> results;
  for (Value result : op->getResults())
    results.push_back(gradients.lookup(result));
  SmallVector<bool> needed;
  for (Value operand : op->getOperands())
    needed.push_back(active.contains(operand));
  if (llvm::none_of(results, [](Value gradient) { return bool(gradient); }) ||
      !llvm::is_contained(needed, true))
    return success();
  auto differentiable = dyn_cast<DifferentiableInterface>(op);
  if (!differentiable)
    return op->emitOpError("can't be differentiated");
  Operation *before = &block.back();
  SmallVector<Value> operands(op->getNumOperands());
  if (failed(differentiable.buildGradient(builder, results, needed, operands)))
    return failure();
  for (auto [operand, gradient, wanted] : llvm::zip_equal(op->getOperands(), operands, needed))
    if (gradient && wanted)
      add(operand, gradient, op->getLoc());
  placeGradient(op, before);
  return success();
}

FailureOr<SmallVector<Value>> Reverse::run(Value output, ValueRange inputs) {
  SmallVector<Operation *> forward = markActive();
  if (active.contains(output))
    gradients[output] = ptl::Emitter(builder, output.getLoc()).like(output, 1);
  for (Operation *op : llvm::reverse(forward))
    if (failed(visit(op)))
      return failure();
  SmallVector<Value> found;
  for (Value input : inputs)
    found.push_back(gradients.lookup(input));
  return found;
}

FailureOr<SmallVector<Value>> grad::differentiate(Block &block, Value output, ValueRange inputs) {
  return Reverse(block, inputs).run(output, inputs);
}
