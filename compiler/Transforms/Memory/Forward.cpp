//===- Forward.cpp - The forward of a micro-batch -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Memory/Forward.h"

#include "compiler/Analysis/Kernel/Outline.h"
#include "compiler/Support/Stages.h"
#include "dialects/Spmd/Spmd.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::memory;

bool memory::isFreeOrView(Operation *op) {
  return kernel::isFree(op) || isa<ptl::ReshapeOp, ptl::StopGradientOp>(op);
}

void Forward::find() {
  operations.clear();
  SmallVector<Value> stack(body.getTerminator()->getOperands().take_front(totals));
  while (!stack.empty()) {
    Operation *op = stack.pop_back_val().getDefiningOp();
    if (op && op->getBlock() == &body && operations.insert(op).second)
      llvm::append_range(stack, op->getOperands());
  }
  choose();
  findScores();
}

/// Looks for activations, and for the rules of operations.
void Forward::choose() {
  activations.clear();
  choices.clear();
  bySegment.clear();
  for (Operation &op : body) {
    if (!contains(&op))
      continue;
    if (isa<ptl::MicrobatchOp>(op) ||
        llvm::any_of(op.getOperands(), [&](Value operand) { return isActivation(operand); }))
      activations.insert(op.result_begin(), op.result_end());
    RematChoice choice = rules.of(&op);
    if (isa<ptl::MicrobatchOp>(op) || choice.segment.empty())
      continue;
    choices[&op] = choice;
    bySegment[choice.segment].push_back(&op);
  }
}

void Forward::expandComposites() {
  SmallVector<ExpandInterface> composites;
  for (auto &[segment, list] : bySegment)
    for (Operation *op : list)
      if (auto composite = dyn_cast<ExpandInterface>(op); composite && choices[op].kinds)
        composites.push_back(composite);
  for (size_t i = 0; i < composites.size(); ++i) {
    ExpandInterface composite = composites[i];
    // One kernel of the runtime, which always adds in the same order.
    if (auto attention = dyn_cast<ptl::AttentionOp>(composite.getOperation());
        attention && !attention.getCut())
      continue;
    OpBuilder builder(composite);
    Operation *before = composite->getPrevNode();
    SmallVector<Value> values = composite.expand(builder);
    for (Operation *op = before ? before->getNextNode() : &body.front(); op != composite;
         op = op->getNextNode()) {
      if (Attribute part = composite->getAttr(kPart))
        op->setAttr(kPart, part);
      if (auto inner = dyn_cast<ExpandInterface>(op))
        composites.push_back(inner);
    }
    if (auto name = composite->getAttr("ptl.name"); name && values.front().getDefiningOp())
      values.front().getDefiningOp()->setAttr("ptl.name", name);
    composite->replaceAllUsesWith(ValueRange(values));
    composite->erase();
  }
  find();
}

bool Forward::isProduct(Operation *op) const {
  auto dot = dyn_cast<ptl::DotOp>(op);
  return dot && isActivation(dot.getLhs()) && isActivation(dot.getRhs());
}

static bool isExp(Operation *op) {
  auto map = dyn_cast<ptl::ElementwiseOp>(op);
  return map && map.getKind() == ptl::ElementwiseKind::Exp;
}

/// Finds attention that is written out: what lies between two products of activations on a way
/// through an exponential. A router's softmax reads a product with a weight, and isn't that.
void Forward::findScores() {
  scores.clear();
  weightedSums.clear();
  enum Mark : uint8_t { Product = 1, Exp = 2 }; // met on a way from, or to, a product
  for (auto &[segment, list] : bySegment) {
    DenseMap<Operation *, uint8_t> above, below;
    for (Operation *op : list) {
      for (Value operand : op->getOperands())
        if (Operation *maker = operand.getDefiningOp(); maker && segmentOf(maker) == segment)
          above[op] |= isProduct(maker) ? Product : isa<ptl::DotOp>(maker) ? 0 : above[maker];
      if (above[op] && isExp(op))
        above[op] |= Exp;
    }
    for (Operation *op : llvm::reverse(list)) {
      for (Operation *user : op->getUsers())
        if (contains(user) && segmentOf(user) == segment)
          below[op] |= isProduct(user) ? Product : isa<ptl::DotOp>(user) ? 0 : below[user];
      if (below[op] && isExp(op))
        below[op] |= Exp;
    }
    for (Operation *op : list) {
      if (isProduct(op) ? below[op] & Exp
                        : above[op] && below[op] && ((above[op] | below[op]) & Exp))
        scores.insert(op);
      if (isProduct(op) && above[op] & Exp)
        weightedSums.insert(op);
    }
  }
}

static bool isPointwise(Operation *op) {
  return isa<ptl::ElementwiseOp, ptl::GatherOp, ptl::SliceOp, ptl::PadOp, ptl::ConcatOp,
             ptl::RandomOp, spmd::MaskOp>(op);
}

/// A product with a vector becomes a fold.
static bool isFold(Operation *op) {
  if (isa<ptl::ReduceOp, ptl::ArgmaxOp, ptl::TopKOp, ptl::ScatterAddOp>(op))
    return true;
  auto dot = dyn_cast<ptl::DotOp>(op);
  if (!dot)
    return false;
  int64_t left = 1, right = 1;
  for (StringAttr name : ptl::getDims(dot.getResult())) {
    bool inLeft = ptl::hasDim(dot.getLhs(), name), inRight = ptl::hasDim(dot.getRhs(), name);
    int64_t size = ptl::getDimSize(dot.getResult(), name);
    left *= inRight ? 1 : size;
    right *= inLeft ? 1 : size;
  }
  return left == 1 || right == 1;
}

bool Forward::mayRepeat(Operation *op) const {
  if (isFreeOrView(op))
    return true;
  // Results are small, and the order of a sum may depend on the kernel that it is in.
  if (isFold(op))
    return false;
  unsigned kinds = choices.lookup(op).kinds;
  return (kinds & kEverything) || ((kinds & kPointwise) && isPointwise(op)) ||
         ((kinds & kScores) && scores.contains(op)) ||
         ((kinds & kGathers) && isa<spmd::AllGatherOp>(op)) ||
         ((kinds & kAttention) && (isa<ptl::AttentionOp>(op) || weightedSums.contains(op)));
}

bool Forward::leavesSegment(Value value) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return contains(user) && segmentOf(user) != segmentOf(value.getDefiningOp());
  });
}
