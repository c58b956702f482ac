//===- StepBody.cpp - The structure of a micro-batch's work ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Everything here is one or two walks over the block, in order or against it:
// operands come first, so what follows from operands is found forwards and what
// follows from readers backwards.
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Cost/StepBody.h"

#include "compiler/Support/Location.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::cost;

bool StepBody::isView(Operation *op) {
  return isa_and_nonnull<ptl::BroadcastOp, ptl::ReshapeOp, ptl::StopGradientOp>(op);
}

bool StepBody::isTransfer(Operation *op) {
  return isa_and_nonnull<spmd::AllReduceOp, spmd::AllGatherOp, spmd::ReduceScatterOp,
                         spmd::AllToAllOp, spmd::PermuteOp>(op);
}

/// A matrix product, attention, or rows that are moved by an index: what row kernels end at.
static bool isLibraryWork(Operation *op) {
  return isa<ptl::DotOp, ptl::AttentionOp, ptl::AttentionGradOp, ptl::GatherOp, ptl::ScatterAddOp>(
      op);
}

bool StepBody::isRowWork(Operation *op) {
  return op && !isView(op) && !isTransfer(op) && !isLibraryWork(op) &&
         !isa<ptl::ConstantOp, ptl::IotaOp, ptl::MicrobatchOp, ptl::YieldOp>(op);
}

Value StepBody::root(Value value) {
  while (isView(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

bool StepBody::isArgument(Value value) {
  auto argument = dyn_cast<BlockArgument>(root(value));
  return argument && isa<func::FuncOp>(argument.getOwner()->getParentOp());
}

StepBody::StepBody(ptl::AccumulateOp accumulate, const ProfileOptions &options)
    : body(&accumulate.getBody().front()), half(options.half) {
  findForward(accumulate);
  findSources();
  findUnits(options.stacks);
  findLevels();
  findCore();
  findLoss();
  findStatistics();
}

/// The loss and metrics are the scalars that aren't marked as gradients.
void StepBody::findForward(ptl::AccumulateOp accumulate) {
  auto marks = accumulate->getAttrOfType<ArrayAttr>("ptl.grad");
  SmallVector<Operation *> queue;
  for (auto [number, value] : llvm::enumerate(body->getTerminator()->getOperands())) {
    bool isGradient =
        marks && number < marks.size() && !cast<StringAttr>(marks[number]).getValue().empty();
    if (!isGradient && cast<RankedTensorType>(value.getType()).getRank() == 0)
      queue.push_back(value.getDefiningOp());
  }
  while (!queue.empty()) {
    Operation *op = queue.pop_back_val();
    if (!contains(op) || facts[op].forward)
      continue;
    facts[op].forward = true;
    for (Value operand : op->getOperands())
      queue.push_back(operand.getDefiningOp());
  }
}

void StepBody::findSources() {
  for (Operation &op : *body) {
    Facts &own = facts[&op];
    own.random = isa<ptl::RandomOp>(op);
    own.source = isa<ptl::ConstantOp, ptl::IotaOp, ptl::RandomOp>(op) ||
                 ((isView(&op) || isRowWork(&op)) && op.getNumOperands() > 0);
    if (!own.source || own.random)
      continue;
    for (Value operand : op.getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (isa_and_nonnull<ptl::ConstantOp>(producer))
        continue;
      if (!contains(producer) || !facts[producer].source) {
        facts[&op].source = facts[&op].random = false;
        break;
      }
      facts[&op].random |= facts[producer].random;
    }
  }
}

/// Splits "blocks.3.attn" after the first number behind the path of a stack; empty if there is
/// none.
static StringRef unitPath(StringRef part, ArrayRef<std::string> stacks) {
  StringRef best;
  for (StringRef stack : stacks) {
    StringRef rest = part;
    if (!rest.consume_front(stack) || !rest.consume_front("."))
      continue;
    StringRef number = rest.take_while([](char c) { return c >= '0' && c <= '9'; });
    StringRef tail = rest.drop_front(number.size());
    if (number.empty() || (!tail.empty() && tail.front() != '.'))
      continue;
    StringRef path = part.take_front(stack.size() + 1 + number.size());
    if (best.empty() || path.size() < best.size()) // the outermost stack
      best = path;
  }
  return best;
}

/// Operations of no stack are in the first unit, or in the last one if they depend on a stack;
/// those of the backward are where their line's forward is.
void StepBody::findUnits(ArrayRef<std::string> stacks) {
  llvm::StringMap<unsigned> numbers;
  names.push_back("first");
  parts.push_back(false);
  DenseMap<Operation *, StringRef> paths;
  for (Operation &op : *body) {
    StringRef path = unitPath(partOf(op.getLoc()), stacks);
    paths[&op] = path;
    if (!path.empty() && facts[&op].forward && !facts[&op].source &&
        numbers.try_emplace(path, names.size()).second) {
      names.push_back(path.str());
      parts.push_back(true);
    }
  }
  unsigned last = names.size();
  names.push_back("last");
  parts.push_back(false);
  DenseMap<Location, unsigned> places;
  DenseSet<Operation *> behind;
  for (Operation &op : *body) {
    auto known = numbers.find(paths[&op]);
    bool isBehind = known != numbers.end() || llvm::any_of(op.getOperands(), [&](Value operand) {
                      return behind.contains(operand.getDefiningOp());
                    });
    if (isBehind)
      behind.insert(&op);
    if (known != numbers.end()) {
      facts[&op].unit = known->second;
      continue;
    }
    unsigned unit = isBehind || last == 1 ? last : 0;
    if (facts[&op].forward)
      places.try_emplace(op.getLoc(), unit);
    else if (auto place = places.find(op.getLoc()); place != places.end())
      unit = place->second;
    facts[&op].unit = unit;
  }
  // What only the last unit reads, such as targets, belongs there.
  for (Operation &op : llvm::reverse(*body)) {
    auto isLast = [&](Operation *user) { return facts[user].unit == last || !facts[user].forward; };
    if (facts[&op].forward && facts[&op].unit == 0 && !op.use_empty() &&
        llvm::all_of(op.getUsers(), isLast) &&
        llvm::any_of(op.getUsers(), [&](Operation *user) { return facts[user].forward; }))
      facts[&op].unit = last;
  }
}

void StepBody::findLevels() {
  for (Operation &op : *body) {
    unsigned level = 0;
    for (Value operand : op.getOperands())
      if (Operation *producer = operand.getDefiningOp(); contains(producer)) {
        bool ends = isTransfer(producer) || isLibraryWork(producer);
        level = std::max(level, facts[producer].level + (ends ? 1 : 0));
      }
    facts[&op].level = level;
  }
  // A mask is made where it is used.
  for (Operation &op : llvm::reverse(*body)) {
    if (!facts[&op].source || op.use_empty())
      continue;
    unsigned level = ~0u;
    for (Operation *user : op.getUsers())
      level = std::min(level, facts[user].level);
    facts[&op].level = level;
  }
}

bool StepBody::isActivationProduct(Operation *op) const {
  auto dot = dyn_cast_or_null<ptl::DotOp>(op);
  return dot && !isArgument(dot.getLhs()) && !isArgument(dot.getRhs());
}

void StepBody::findCore() {
  DenseSet<Operation *> after, before;
  for (Operation &op : *body)
    if (facts[&op].forward)
      for (Value operand : op.getOperands())
        if (Operation *producer = operand.getDefiningOp(); contains(producer))
          if (facts[producer].unit == facts[&op].unit && !isTransfer(&op) &&
              (isActivationProduct(producer) ||
               (after.contains(producer) && !isLibraryWork(producer))))
            after.insert(&op);
  for (Operation &op : llvm::reverse(*body))
    if (facts[&op].forward)
      for (Operation *user : op.getUsers())
        if (facts[user].forward && facts[user].unit == facts[&op].unit &&
            (isActivationProduct(user) || (before.contains(user) && !isLibraryWork(user))))
          before.insert(&op);
  for (Operation &op : *body) {
    if (!facts[&op].forward || isTransfer(&op))
      continue;
    bool leads = before.contains(&op), follows = after.contains(&op);
    facts[&op].core = leads && (follows || isActivationProduct(&op));
    facts[&op].attends =
        isa<ptl::AttentionOp>(op) || (follows && !leads && isActivationProduct(&op));
  }
  // Masks that only the core reads.
  for (Operation &op : llvm::reverse(*body))
    if (facts[&op].source && facts[&op].forward && !op.use_empty())
      facts[&op].core |=
          llvm::all_of(op.getUsers(),
                       [&](Operation *user) { return facts[user].core || !facts[user].forward; }) &&
          llvm::any_of(op.getUsers(), [&](Operation *user) { return facts[user].core; });
}

void StepBody::findLoss() {
  DenseSet<Operation *> leads; // to a product
  for (Operation &op : llvm::reverse(*body)) {
    if (!facts[&op].forward)
      continue;
    for (Operation *user : op.getUsers())
      if (facts[user].forward && (isLibraryWork(user) || leads.contains(user)))
        leads.insert(&op);
  }
  for (Operation &op : *body)
    facts[&op].loss = facts[&op].forward && !leads.contains(&op) && !parts[facts[&op].unit] &&
                      !isa<ptl::MicrobatchOp>(op);
}

void StepBody::findStatistics() {
  for (Operation &op : *body) {
    if (isa<ptl::ReduceOp>(op)) {
      facts[&op].statistic = true;
      continue;
    }
    if (!isView(&op) && !isRowWork(&op) && !isTransfer(&op))
      continue;
    bool all = op.getNumOperands() > 0;
    for (Value operand : op.getOperands()) {
      Operation *producer = operand.getDefiningOp();
      all &= contains(producer) && (isStatistic(operand) || isa<ptl::ConstantOp>(producer));
    }
    facts[&op].statistic = all && !facts[&op].source;
  }
}

bool StepBody::isStatistic(Value value) const {
  Operation *producer = value.getDefiningOp();
  bool second = cast<OpResult>(value).getResultNumber() > 0 &&
                isa<ptl::LayerNormOp, ptl::RmsNormOp, ptl::AttentionOp>(producer);
  return second || facts.lookup(producer).statistic;
}

double StepBody::widthOf(Value value) const {
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  double width = static_cast<double>(llvm::divideCeil(element.getIntOrFloatBitWidth(), 8));
  if (!half || !element.isF32())
    return width;
  Operation *producer = value.getDefiningOp();
  if (!contains(producer))
    return 2;
  return isStatistic(value) || facts.lookup(producer).loss ? width : 2;
}

double StepBody::bytesOf(Value value) const {
  return widthOf(value) *
         static_cast<double>(cast<RankedTensorType>(value.getType()).getNumElements());
}

SmallVector<Operation *> StepBody::readers(Value value) const {
  SmallVector<Operation *> found, queue(value.getUsers());
  while (!queue.empty()) {
    Operation *user = queue.pop_back_val();
    if (isView(user))
      llvm::append_range(queue, user->getUsers());
    else if (!llvm::is_contained(found, user))
      found.push_back(user);
  }
  return found;
}
