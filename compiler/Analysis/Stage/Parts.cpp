//===- Parts.cpp - Which part of a pipeline operations are in -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Stage/Parts.h"

#include "compiler/Support/Stages.h"
#include "dialects/Spmd/Spmd.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::stage;

static constexpr int kNone = -1;

ptl::AccumulateOp stage::mainLoop(Block &step) {
  for (ptl::AccumulateOp loop : step.getOps<ptl::AccumulateOp>())
    if (loop->hasAttr("ptl.grad"))
      return loop;
  return {};
}

llvm::SetVector<Value> stage::sumsOf(Value value, ptl::AccumulateOp loop) {
  llvm::SetVector<Value> sums, seen;
  SmallVector<Value> open{value};
  while (!open.empty()) {
    Value next = open.pop_back_val();
    Operation *maker = next.getDefiningOp();
    if (!maker || !seen.insert(next))
      continue;
    if (maker == loop)
      sums.insert(next);
    else if (maker->getNumRegions() == 0)
      llvm::append_range(open, maker->getOperands());
  }
  return sums;
}

bool stage::isMadeAnew(Operation &op) {
  return isa<ptl::ConstantOp, ptl::IotaOp, ptl::MicrobatchOp, ptl::BroadcastOp,
             spmd::BucketAllGatherOp>(op);
}

LogicalResult Parts::find() {
  Block &block = loop.getBody().front();
  auto isOuter = [&](Value value) {
    Operation *maker = value.getDefiningOp();
    return value.getParentBlock() != &block || !maker || free.contains(maker);
  };
  for (Operation &op : block.without_terminator()) {
    if (isMadeAnew(op) && llvm::all_of(op.getOperands(), isOuter)) {
      free.insert(&op);
      continue;
    }
    int part = kNone;
    for (Value operand : op.getOperands())
      if (Operation *maker = operand.getDefiningOp())
        part = std::max(part, partOf.lookup_or(maker, kNone));
    auto mark = op.getAttrOfType<IntegerAttr>(kPart);
    if (mark && mark.getInt() < part)
      return op.emitError("can't be in part ")
             << mark.getInt() << " of the pipeline: it uses a value of part " << part;
    partOf[&op] = mark ? static_cast<int>(mark.getInt()) : part;
  }
  // What nothing says a word about goes to its first user.
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    auto place = partOf.find(&op);
    if (place == partOf.end() || place->second != kNone)
      continue;
    place->second = 2 * stages;
    for (Operation *user : op.getUsers())
      if (auto known = partOf.find(user); known != partOf.end())
        place->second = std::min(place->second, known->second);
  }
  return success();
}

std::optional<int> Parts::of(Operation *op) const {
  auto place = partOf.find(op);
  return place == partOf.end() ? std::nullopt : std::optional(place->second);
}

int Parts::ofSum(unsigned sum) const {
  ptl::AccumulateOp op = loop;
  Value value = op.getBody().front().getTerminator()->getOperand(sum);
  if (Operation *maker = value.getDefiningOp())
    if (std::optional<int> part = of(maker))
      return *part;
  return sum == 0 ? stages : 2 * stages;
}

void Parts::forEachArgument(Value operand, function_ref<void(BlockArgument)> visit) const {
  ptl::AccumulateOp op = loop;
  SmallVector<Value> open{operand};
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (Operation *maker = value.getDefiningOp()) {
      if (maker->getBlock() == op->getBlock() || isFree(maker))
        llvm::append_range(open, maker->getOperands());
    } else if (auto argument = cast<BlockArgument>(value); argument.getOwner() == op->getBlock()) {
      visit(argument);
    }
  }
}

llvm::DenseMap<Value, std::set<int>> Parts::stagesOfArguments() const {
  llvm::DenseMap<Value, std::set<int>> result;
  for (const auto &[op, part] : partOf)
    for (Value operand : op->getOperands())
      forEachArgument(operand,
                      [&](BlockArgument argument) { result[argument].insert(stageOf(part)); });
  return result;
}
