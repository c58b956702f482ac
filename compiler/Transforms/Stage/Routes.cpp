//===- Routes.cpp - How values get from stage to stage --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Stage/Routes.h"

#include "compiler/Support/Stages.h"

#include <map>

using namespace mlir;
using namespace ptlc;
using namespace ptlc::stage;
using rt::PhaseKind;
using rt::SlotKind;

Routes::Routes(ptl::AccumulateOp loop, std::vector<int> place, bool split)
    : loop(loop), ranks(std::move(place)), stages(ranks.size()), split(split),
      parts(loop, static_cast<int>(stages)) {
  auto last = static_cast<int>(stages) - 1;
  for (int stage = 0; stage <= last; ++stage)
    phaseList.push_back({PhaseKind::Forward, stage});
  phaseList.push_back({PhaseKind::Loss, last});
  for (int stage = last; stage >= 0; --stage) {
    phaseList.push_back({split ? PhaseKind::Backward : PhaseKind::WholeBackward, stage});
    if (split)
      phaseList.push_back({PhaseKind::WeightGradient, stage});
  }
}

/// `part` as in Stages.h.
unsigned Routes::phaseOfPart(int part, bool isWeightGradient) const {
  auto number = static_cast<unsigned>(part);
  if (number <= stages || !split)
    return number;
  return stages + 1 + 2 * (number - stages - 1) + isWeightGradient;
}

llvm::SmallVector<Pool> Routes::readBy(const StagePhase &phase) const {
  auto pools = [&](std::initializer_list<SlotKind> kinds) {
    llvm::SmallVector<Pool> list;
    for (SlotKind kind : kinds)
      list.push_back({kind, phase.stage});
    return list;
  };
  switch (phase.kind) {
  case PhaseKind::Forward:
    return pools({SlotKind::Input});
  case PhaseKind::Loss:
    return pools({SlotKind::Stash});
  case PhaseKind::Backward:
  case PhaseKind::WholeBackward:
    return pools({SlotKind::Input, SlotKind::Stash, SlotKind::Gradient});
  case PhaseKind::WeightGradient:
    return pools({SlotKind::Input, SlotKind::Stash, SlotKind::Gradient, SlotKind::Context});
  }
  return {};
}

int64_t Routes::numberOf(Pool pool) const {
  int64_t chunk = 0;
  for (int stage = 0; stage < pool.stage; ++stage)
    chunk += ranks[stage] == ranks[pool.stage];
  return static_cast<int64_t>(pool.kind) * kMaxChunks + chunk;
}

static bool isWidening(Operation *op) {
  auto map = dyn_cast<ptl::ElementwiseOp>(op);
  return map && map.getKind() == ptl::ElementwiseKind::Cast &&
         ptl::elementType(map.getOperands()[0]).isBF16() &&
         ptl::elementType(map.getResult()).isF32();
}

StringRef Routes::samples() {
  for (ptl::MicrobatchOp piece : loop.getBody().front().getOps<ptl::MicrobatchOp>())
    return piece.getDim();
  return {};
}

bool Routes::hasSamples(Operation *op, StringRef samples) {
  return llvm::any_of(op->getResults(), [&](Value result) { return ptl::hasDim(result, samples); });
}

/// What folds the samples widens bf16 for itself, so that the narrow value, which products read
/// anyway, is all that is kept for a fold that comes later.
void Routes::widenForFolds() {
  StringRef dim = samples();
  for (Operation &op : llvm::make_early_inc_range(loop.getBody().front().without_terminator())) {
    if (!isWidening(&op) || op.hasOneUse())
      continue;
    for (OpOperand &use : llvm::make_early_inc_range(op.getUses()))
      if (!isa<ptl::YieldOp>(use.getOwner()) && !hasSamples(use.getOwner(), dim))
        use.set(OpBuilder(use.getOwner()).clone(op)->getResult(0));
  }
}

/// A backward operation is a gradient of weights if it has folded the samples, or widens what such
/// a fold reads, and nothing but gradients of weights uses it.
void Routes::splitBackward() {
  Block &block = loop.getBody().front();
  StringRef dim = samples();
  llvm::DenseSet<Operation *> late;
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    std::optional<int> part = parts.of(&op);
    if (!part)
      continue;
    bool isLate = split && *part > static_cast<int>(stages);
    isLate &= !hasSamples(&op, dim) || isWidening(&op);
    for (Operation *user : op.getUsers())
      isLate &= isa<ptl::YieldOp>(user) || (late.contains(user) && parts.of(user) == part);
    if (isLate)
      late.insert(&op);
    phaseOf[&op] = phaseOfPart(*part, isLate);
  }
  for (Operation &op : block.without_terminator())
    if (auto phase = phaseOf.find(&op); phase != phaseOf.end())
      phaseList[phase->second].operations.push_back(&op);
}

/// Where a sum is added up: where its value is made, and if that is nowhere in particular, where
/// the weight is used whose gradient it is.
unsigned Routes::ownerOf(unsigned sum, Value value) const {
  if (Operation *maker = value.getDefiningOp())
    if (auto phase = phaseOf.find(maker); phase != phaseOf.end())
      return phase->second;
  return isLoss(parts.ofSum(sum)) ? stages : static_cast<unsigned>(phaseList.size()) - 1;
}

void Routes::placeSums() {
  Operation *yield = loop.getBody().front().getTerminator();
  for (auto [sum, value] : llvm::enumerate(yield->getOperands()))
    phaseList[ownerOf(sum, value)].sums.push_back(sum);
}

Route &Routes::route(int source, int target) {
  for (Route &known : routeList)
    if (known.source == source && known.target == target)
      return known;
  routeList.push_back({source, target});
  return routeList.back();
}

/// A value of the forward of stage `from`.
LogicalResult Routes::routeForward(Value value, int from, ArrayRef<unsigned> users) {
  llvm::SmallVector<int> users_;
  bool forLoss = false;
  for (unsigned user : users) {
    int stage = phaseList[user].stage;
    forLoss |= isLoss(user);
    if (stage < from)
      return emitError(value.getLoc(), "a value of stage ")
             << from << " can't be used on stage " << stage;
    if (stage > from && !llvm::is_contained(users_, stage))
      users_.push_back(stage);
    if (stage == from && user != forwardOf(from))
      keep(forwardOf(from), value, {SlotKind::Stash, from});
  }
  llvm::sort(users_);
  for (int at = from; int next : users_) {
    route(at, next).values.insert(value);
    bool isHere = ranks[at] == ranks[next];
    keep(forwardOf(at), value, isHere ? Pool{SlotKind::Input, next} : Pool{SlotKind::Output, at});
    if (forLoss && next == static_cast<int>(stages) - 1)
      keep(forwardOf(next), value, {SlotKind::Stash, next});
    at = next;
  }
  return success();
}

/// A gradient, made by the loss or by the backward of a stage.
void Routes::routeBackward(Value value, unsigned from, ArrayRef<unsigned> users) {
  int at = phaseList[from].stage;
  llvm::SmallVector<int> targets;
  for (unsigned user : users) {
    int stage = phaseList[user].stage;
    if (stage < at && !llvm::is_contained(targets, stage))
      targets.push_back(stage);
    if (stage == at && !isLoss(from))
      keep(from, value, {SlotKind::Context, at});
  }
  if (isLoss(from))
    keep(from, value, {SlotKind::Gradient, at});
  llvm::sort(targets, std::greater<>());
  for (int next : targets) {
    route(next, at).gradients.insert(value);
    bool isHere = ranks[at] == ranks[next];
    keep(backwardOf(at), value,
         isHere ? Pool{SlotKind::Gradient, next} : Pool{SlotKind::InputGradient, at});
    at = next;
  }
}

LogicalResult Routes::routeValue(Value value, unsigned from) {
  llvm::SmallVector<unsigned> users;
  for (Operation *user : value.getUsers())
    if (auto phase = phaseOf.find(user); phase != phaseOf.end() && phase->second != from)
      users.push_back(phase->second);
  llvm::sort(users);
  if (users.empty())
    return success();
  if (from < stages)
    return routeForward(value, static_cast<int>(from), users);
  routeBackward(value, from, users);
  return success();
}

LogicalResult Routes::find() {
  if (split)
    widenForFolds();
  if (failed(parts.find()))
    return failure();
  splitBackward();
  placeSums();
  for (Operation &op : loop.getBody().front().without_terminator())
    if (auto phase = phaseOf.find(&op); phase != phaseOf.end())
      for (Value result : op.getResults())
        if (failed(routeValue(result, phase->second)))
          return failure();
  llvm::sort(routeList, [](const Route &a, const Route &b) {
    return std::pair(a.source, a.target) < std::pair(b.source, b.target);
  });
  return success();
}
