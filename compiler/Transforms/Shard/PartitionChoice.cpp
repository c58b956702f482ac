//===- PartitionChoice.cpp - How one operation is divided -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Costs every candidate: the cheapest way from an existing version of each
// operand to what is needed, shared by the uses that are left, plus the way of
// the result to what propagation wants, plus a whisper for local work. A result
// that is pending may be finished further down, where it is smaller. Gathering a
// weight that a directive cut comes before cost, and so does gathering along a
// dimension that the plan cuts wherever it occurs, which would have every rank do
// the work of all: neither is ever done for bytes alone.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Shard/Partitioner.h"

#include "llvm/ADT/STLExtras.h"

using namespace ptlc;
using namespace ptlc::shard;
using namespace ptlc::sharding;
using namespace mlir;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static int64_t elementsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

/// Whether `use` is linear in its value when that alone is pending.
static bool isLinearUse(OpOperand &use) {
  Operation *op = use.getOwner();
  if (isa<ptl::YieldOp>(op))
    return true;
  auto interface = dyn_cast<ShardingRuleInterface>(op);
  if (!interface || isa<ptl::OptimizeOp, ptl::GlobalNormOp>(op))
    return false;
  SmallVector<bool> pending(op->getNumOperands(), false);
  pending[use.getOperandNumber()] = true;
  return mayPass(interface.getShardingRule(), pending);
}

/// With one use a pending sum may flow on. With several it may only if all are linear and their
/// results together are smaller; otherwise some use needs the whole value, and then all get it.
bool Partitioner::mayDefer(Value value) {
  if (value.hasOneUse() || value.use_empty())
    return true;
  int64_t results = 0;
  for (OpOperand &use : value.getUses()) {
    if (isa<func::ReturnOp>(use.getOwner()) || !isLinearUse(use))
      return false;
    if (!isa<ptl::YieldOp>(use.getOwner()))
      results += elementsOf(use.getOwner()->getResult(0));
  }
  return results < elementsOf(value);
}

double Partitioner::operandCost(Value value, const Sharding &needed, Gathers &gathers) {
  Versions &versions = values.find(value)->second;
  double best = std::numeric_limits<double>::infinity();
  for (const Version &version : versions.list) {
    double cost = 0;
    Gathers here;
    for (const Step &step : planner.plan(shapeOf(value), version.sharding, needed)) {
      cost += step.cost;
      if (step.kind != StepKind::AllGather && step.kind != StepKind::AllToAll)
        continue;
      here.weights |= versions.isWeight;
      here.cutDims |= cutDims.contains(ptl::getDims(value)[step.dim].getValue());
    }
    if (cost < best) {
      best = cost;
      gathers = here;
    }
  }
  return best / std::max(1, versions.uses);
}

/// Returns the axes over which a sum is pending on `value`, or will be once it is made as
/// propagation wants it.
AxisSet Partitioner::pendingOn(Value value) {
  if (auto made = values.find(value); made != values.end() && !made->second.list.empty())
    return made->second.main.kind == Fold::Sum ? made->second.main.partial : 0;
  auto result = dyn_cast<OpResult>(value);
  auto interface =
      result ? dyn_cast<ShardingRuleInterface>(result.getOwner()) : ShardingRuleInterface();
  if (!interface || isa<ptl::OptimizeOp, ptl::GlobalNormOp>(result.getOwner()))
    return 0;
  ShardingRule rule = interface.getShardingRule();
  AxisSet pending = 0;
  for (auto [operand, dims] : llvm::zip(interface->getOperands(), rule.operands))
    for (auto [axes, factors] : llvm::zip(wanted(operand).dims, dims))
      if (factors.size() == 1 && rule.factors[factors[0]].kind == FactorKind::Sum &&
          leavesPending(rule, factors[0], result.getResultNumber()))
        pending |= setOf(axes);
  return pending & ~wanted(value).used();
}

/// Whether `use` adds its value to one that is pending over `axes`, too: the sum has to be finished
/// anyway.
bool Partitioner::isFinishedAnyway(OpOperand &use, AxisSet axes) {
  Operation *op = use.getOwner();
  auto interface = dyn_cast<ShardingRuleInterface>(op);
  return interface && interface.getShardingRule().linearity == Linearity::All &&
         llvm::any_of(op->getOpOperands(), [&](OpOperand &other) {
           return &other != &use && (axes & ~pendingOn(other.get())) == 0;
         });
}

/// How far down a pending result's uses are followed.
static constexpr unsigned kLookAhead = 4;

/// The way of a result to what propagation wants, or to where an only use, linear in it, has made
/// less of what is pending, or adds it to what is pending, too.
double Partitioner::resultCost(Value value, const Sharding &made) {
  double best = planner.cost(shapeOf(value), made, wanted(value));
  AxisSet pending = made.partial & ~wanted(value).used();
  if (!pending || made.kind != Fold::Sum)
    return best;
  double moved = planner.cost(shapeOf(value), made, wanted(value).withPartial(pending));
  for (unsigned depth = 0; depth < kLookAhead && value.hasOneUse(); depth++) {
    OpOperand &use = *value.getUses().begin();
    if (use.getOwner()->getNumResults() != 1)
      break;
    value = use.getOwner()->getResult(0);
    Sharding there = wanted(value);
    if (there.used() & pending)
      break;
    if (isFinishedAnyway(use, pending))
      return std::min(best, moved);
    if (!isLinearUse(use))
      break;
    best = std::min(best, moved + planner.cost(shapeOf(value), there.withPartial(pending), there));
  }
  return best;
}

/// What candidates are compared by, the first difference deciding.
struct Partitioner::Score {
  unsigned weights = 0, cutDims = 0; ///< gathered
  double cost = 0;
  unsigned masked = 0; ///< operands that become pending to be added to those that are
  int passing = 0;     ///< negative: pending sums that flow on
  size_t number = 0;
  bool operator<(const Score &other) const {
    return std::tie(weights, cutDims, cost, masked, passing, number) <
           std::tie(other.weights, other.cutDims, other.cost, other.masked, other.passing,
                    other.number);
  }
};

/// The axes that cut some factor; nothing if a maximum or minimum would be pending.
static std::optional<AxisSet> busyAxes(const ShardingRule &rule, const Assignment &assignment) {
  AxisSet busy = 0;
  for (auto [i, axes] : llvm::enumerate(assignment)) {
    busy |= setOf(axes);
    FactorKind kind = rule.factors[i].kind;
    if (!axes.empty() && (kind == FactorKind::Max || kind == FactorKind::Min))
      return std::nullopt;
  }
  return busy;
}

/// Returns the axes over which a pending sum may flow through, given what each operand may bring.
static AxisSet passable(const Mesh &mesh, const ShardingRule &rule, AxisSet busy,
                        ArrayRef<AxisSet> live) {
  AxisSet result = 0;
  for (AxisId axis = 0; axis < mesh.size(); axis++) {
    if (busy & axisBit(axis))
      continue;
    SmallVector<bool> pending;
    for (AxisSet set : live)
      pending.push_back(set & axisBit(axis));
    if (mayPass(rule, pending))
      result |= axisBit(axis);
  }
  return result;
}

void Partitioner::addFlows(const ShardingRule &rule, const Assignment &assignment,
                           ArrayRef<AxisSet> live, ArrayRef<AxisSet> pending,
                           SmallVectorImpl<Flow> &flows) {
  Flow none(live.size(), 0);
  flows.push_back(none);
  std::optional<AxisSet> busy = busyAxes(rule, assignment);
  if (!busy)
    return;
  if (AxisSet allowed = passable(mesh, rule, *busy, live)) {
    Flow &flow = flows.emplace_back(none);
    for (auto [axes, brought] : llvm::zip(flow, live))
      axes = brought & allowed;
  }
  if (rule.linearity != Linearity::All || rule.linearOperands.size() < 2)
    return;
  AxisSet joint = 0;
  for (unsigned operand : rule.linearOperands)
    joint |= live[operand];
  for (auto [brought, all] : llvm::zip(live, pending))
    joint &= ~(all & ~brought) & ~*busy;
  Flow &flow = flows.emplace_back(none);
  for (unsigned operand : rule.linearOperands)
    flow[operand] = joint;
}

void Partitioner::weigh(Operation *op, const ShardingRule &rule, const Flow &flow,
                        ArrayRef<AxisSet> live, Choice &choice, Score &score) {
  auto all = *shardingsOf(mesh, rule, choice.assignment);
  AxisSet flowing = 0;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    Sharding needed = all[i].withPartial(flow[i]);
    flowing |= needed.partial;
    Gathers gathers;
    score.cost += operandCost(operand, needed, gathers);
    score.weights += gathers.weights;
    score.cutDims += gathers.cutDims;
    score.masked += (flow[i] & ~live[i]) != 0;
    choice.operands.push_back(needed);
  }
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    Sharding made = all[op->getNumOperands() + i];
    made = made.withPartial(made.partial | flowing);
    score.cost += resultCost(result, made);
    choice.results.push_back(made);
  }
  double space = 1;
  for (auto [i, factor] : llvm::enumerate(rule.factors))
    space *= localLength(mesh, factor.size, choice.assignment[i]);
  score.cost += 1e-3 * space;
  score.passing = -llvm::popcount(flowing);
}

Partitioner::Choice Partitioner::choose(Operation *op, const ShardingRule &rule) {
  Situation situation{rule, {}, {}, {}};
  SmallVector<AxisSet> live, pending;
  for (Value operand : op->getOperands()) {
    const Sharding &main = values.find(operand)->second.main;
    situation.wantedOperands.push_back(wanted(operand));
    situation.actualOperands.push_back(main);
    pending.push_back(main.partial);
    live.push_back(main.kind == Fold::Sum && mayDefer(operand) ? main.partial : 0);
  }
  for (Value result : op->getResults())
    situation.wantedResults.push_back(wanted(result));

  SmallVector<std::pair<Score, Choice>, 4> ways;
  for (auto [number, assignment] : llvm::enumerate(candidates(mesh, situation))) {
    SmallVector<Flow> flows;
    addFlows(rule, assignment, live, pending, flows);
    for (const Flow &flow : flows) {
      auto &[score, choice] = ways.emplace_back();
      choice.assignment = assignment;
      score.number = number;
      weigh(op, rule, flow, live, choice, score);
    }
  }
  auto best = llvm::min_element(ways, llvm::less_first());
  Choice choice = std::move(best->second);
  noteOther(op, rule, choice, best->first, ways);
  return choice;
}

/// The way that leaves nothing pending which wasn't before: what is folded is gathered.
std::optional<std::pair<Partitioner::Score, Partitioner::Choice>>
Partitioner::withoutFolds(Operation *op, const ShardingRule &rule, const Choice &choice) {
  std::pair<Score, Choice> way;
  Choice &whole = way.second;
  whole.assignment = choice.assignment;
  for (unsigned factor = 0; factor < rule.factors.size(); factor++)
    for (unsigned result = 0; result < rule.results.size(); result++)
      if (leavesPending(rule, factor, result))
        whole.assignment[factor].clear();
  makeLegal(mesh, rule, whole.assignment);
  if (whole.assignment == choice.assignment || !shardingsOf(mesh, rule, whole.assignment))
    return std::nullopt;
  SmallVector<AxisSet> none(op->getNumOperands(), 0);
  weigh(op, rule, none, none, whole, way.first);
  return way;
}

/// Of the ways that divide the operation otherwise, describes the moves of the next best, if the
/// chosen one moves anything.
void Partitioner::noteOther(Operation *op, const ShardingRule &rule, Choice &choice,
                            const Score &score, ArrayRef<std::pair<Score, Choice>> ways) {
  bool isPending =
      llvm::any_of(choice.results, [](const Sharding &made) { return made.partial != 0; });
  bool isThere = llvm::all_of(llvm::zip(op->getOperands(), choice.operands), [&](auto pair) {
    auto [operand, needed] = pair;
    return bool(values.find(operand)->second.find(needed));
  });
  if (isThere && !isPending)
    return;
  const std::pair<Score, Choice> *other = nullptr;
  for (const auto &way : ways)
    if (!way.second.operands.empty() && way.second.assignment != choice.assignment &&
        (!other || way.first < other->first))
      other = &way;
  std::optional<std::pair<Score, Choice>> whole;
  if (!other && (whole = withoutFolds(op, rule, choice)))
    other = &*whole;
  if (!other)
    return;
  choice.insteadOf = describe(op, other->second);
  if (choice.insteadOf.empty())
    return;
  if (other->first.weights > score.weights)
    choice.insteadOf += ", which gathers a weight that the plan cuts";
  else if (other->first.cutDims > score.cutDims)
    choice.insteadOf += ", which gathers a dimension that the plan cuts";
}
