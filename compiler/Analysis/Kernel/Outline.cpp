//===- Outline.cpp - Moving operations into a kernel ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Kernel/Outline.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace ptlc;

/// True for a cast to f32 of what lies in memory as bf16.
static bool isWidening(Operation *op) {
  auto map = dyn_cast_or_null<ptl::ElementwiseOp>(op);
  return map && map.getKind() == ptl::ElementwiseKind::Cast &&
         ptl::elementType(map.getOperands()[0]).isBF16() &&
         ptl::elementType(map.getResult()).isF32();
}

bool kernel::isFree(Operation *op) {
  return isa_and_nonnull<ptl::ConstantOp, ptl::IotaOp, ptl::BroadcastOp>(op) || isWidening(op);
}

ArrayRef<StringAttr> kernel::leadingDims(Type type, unsigned inner) {
  ArrayRef<StringAttr> dims = ptl::getDims(type);
  return dims.drop_back(std::min<size_t>(inner, dims.size()));
}

namespace {
/// The operations of a kernel to be, with the free ones that they need.
class Collector {
public:
  Collector(ArrayRef<Operation *> ops, bool copiesFree)
      : copiesFree(copiesFree), group(ops.begin(), ops.end()) {
    for (Operation *op : ops)
      add(op);
  }
  SetVector<Operation *> body; ///< producers first
  SetVector<Value> inputs;

private:
  void add(Operation *op) {
    if (body.contains(op))
      return;
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (producer && (group.contains(producer) || (copiesFree && kernel::isFree(producer))))
        add(producer);
      else
        inputs.insert(operand);
    }
    body.insert(op);
  }
  bool copiesFree;
  SetVector<Operation *> group;
};
} // namespace

/// Replaces composites by primitives until none is left.
static void expandBody(Block &block) {
  for (bool changed = true; std::exchange(changed, false);)
    for (Operation &op : llvm::make_early_inc_range(block)) {
      auto composite = dyn_cast<ExpandInterface>(op);
      if (!composite)
        continue;
      OpBuilder builder(&op);
      op.replaceAllUsesWith(ValueRange(composite.expand(builder)));
      op.erase();
      changed = true;
    }
}

/// True if something besides `group` needs the value; free operations count by their users, since a
/// kernel has its own copies.
static bool isNeededOutside(Value value, const SetVector<Operation *> &group) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (!kernel::isFree(user))
      return !group.contains(user);
    return isNeededOutside(user->getResult(0), group);
  });
}

/// Erases an operation after the free ones that nobody else reads.
static void eraseWithFreeUsers(Operation *op) {
  for (Value result : op->getResults())
    while (!result.use_empty())
      eraseWithFreeUsers(*result.getUsers().begin());
  op->erase();
}

rt::KernelOp kernel::outline(ArrayRef<Operation *> ops, rt::KernelKind kind,
                             ArrayRef<StringAttr> iterate) {
  // Libraries read memory: their operands are stored, whatever makes them.
  bool library = kind == rt::KernelKind::Matmul || kind == rt::KernelKind::Attention;
  Collector collected(ops, !library);
  SmallVector<Value> outputs;
  SetVector<Operation *> group(ops.begin(), ops.end());
  for (Operation *op : ops)
    for (Value result : op->getResults())
      // The runtime's attention writes all of its results.
      if (kind == rt::KernelKind::Attention || isNeededOutside(result, group))
        outputs.push_back(result);
  OpBuilder builder(ops.back());
  auto kernel = rt::KernelOp::create(builder, ops.back()->getLoc(), ValueRange(outputs).getTypes(),
                                     kind, collected.inputs.getArrayRef(), iterate);
  Block &block = kernel.getBody().front();
  IRMapping map;
  map.map(collected.inputs.getArrayRef(), block.getArguments());
  builder.setInsertionPointToStart(&block);
  for (Operation *op : collected.body)
    builder.clone(*op, map);
  SmallVector<Value> returned;
  for (auto [output, result] : llvm::zip_equal(outputs, kernel.getOutputs())) {
    returned.push_back(map.lookup(output));
    output.replaceUsesWithIf(result,
                             [&](OpOperand &use) { return !group.contains(use.getOwner()); });
  }
  rt::ReturnOp::create(builder, kernel.getLoc(), returned);
  for (Operation *op : llvm::reverse(ops))
    eraseWithFreeUsers(op);
  if (kind == rt::KernelKind::Rows || kind == rt::KernelKind::Single)
    expandBody(block);
  return kernel;
}

bool kernel::canAccumulate(rt::KernelOp kernel, unsigned number) {
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

StringAttr kernel::outermostDim(Type type) {
  ArrayRef<StringAttr> dims = ptl::getDims(type);
  for (auto [name, size] : llvm::zip_equal(dims, cast<RankedTensorType>(type).getShape()))
    if (size > 1)
      return name;
  return dims.empty() ? StringAttr() : dims.front();
}

Value kernel::createCopy(OpBuilder &builder, Location loc, Value value, Type type) {
  auto copy =
      rt::KernelOp::create(builder, loc, type, rt::KernelKind::Rows, value, leadingDims(type));
  OpBuilder inner = OpBuilder::atBlockEnd(&copy.getBody().front());
  Value result = copy.getBody().getArgument(0);
  if (result.getType() != type)
    result = ptl::BroadcastOp::create(inner, loc, type, result);
  rt::ReturnOp::create(inner, loc, result);
  return copy.getResult(0);
}
