//===- PartitionChoice.cpp - How one operation is divided -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Costs every candidate: the cheapest way from an existing version of each
// operand to what is needed, shared by the uses that are left, plus the way of
// the result to what propagation wants, plus a whisper for local work. Gathering
// a weight that a directive cut comes before cost, and so does gathering along the
// batch, which would have every rank do the work of all: neither is ever done for
// bytes alone.
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
      here.batch |= ptl::getDims(value)[step.dim].getValue() == "batch";
    }
    if (cost < best) {
      best = cost;
      gathers = here;
    }
  }
  return best / std::max(1, versions.uses);
}

namespace {
/// What candidates are compared by, the first difference deciding.
struct Score {
  unsigned weights = 0, batches = 0; ///< gathered
  double cost = 0;
  int passing = 0; ///< negative: pending sums that flow on
  size_t number = 0;
  bool operator<(const Score &other) const {
    return std::tie(weights, batches, cost, passing, number) <
           std::tie(other.weights, other.batches, other.cost, other.passing, other.number);
  }
};
} // namespace

/// Returns the axes over which a pending sum may flow through, given what each operand may bring.
static AxisSet passable(const Mesh &mesh, const ShardingRule &rule, const Assignment &assignment,
                        ArrayRef<AxisSet> live) {
  AxisSet busy = 0, result = 0;
  for (auto [i, axes] : llvm::enumerate(assignment)) {
    busy |= setOf(axes);
    FactorKind kind = rule.factors[i].kind;
    if (!axes.empty() && (kind == FactorKind::Max || kind == FactorKind::Min))
      return 0;
  }
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

Partitioner::Choice Partitioner::choose(Operation *op, const ShardingRule &rule) {
  Situation situation{rule, {}, {}, {}};
  SmallVector<AxisSet> live;
  for (Value operand : op->getOperands()) {
    const Sharding &main = values.find(operand)->second.main;
    situation.wantedOperands.push_back(wanted(operand));
    situation.actualOperands.push_back(main);
    live.push_back(main.partial && main.kind == Fold::Sum && mayDefer(operand) ? main.partial : 0);
  }
  for (Value result : op->getResults())
    situation.wantedResults.push_back(wanted(result));

  Choice best;
  Score bestScore;
  bool found = false;
  for (auto [number, assignment] : llvm::enumerate(candidates(mesh, situation))) {
    AxisSet allowed = passable(mesh, rule, assignment, live);
    for (AxisSet passing : allowed ? SmallVector<AxisSet>{allowed, 0} : SmallVector<AxisSet>{0}) {
      Choice choice;
      choice.assignment = assignment;
      auto all = *shardingsOf(mesh, rule, assignment);
      Score score;
      score.number = number;
      AxisSet flow = 0;
      for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
        Sharding needed = all[i].withPartial(live[i] & passing);
        flow |= needed.partial;
        Gathers gathers;
        score.cost += operandCost(operand, needed, gathers);
        score.weights += gathers.weights;
        score.batches += gathers.batch;
        choice.operands.push_back(needed);
      }
      for (auto [i, result] : llvm::enumerate(op->getResults())) {
        Sharding made = all[op->getNumOperands() + i];
        made = made.withPartial(made.partial | flow);
        score.cost += planner.cost(shapeOf(result), made, wanted(result));
        choice.results.push_back(made);
      }
      double space = 1;
      for (auto [i, factor] : llvm::enumerate(rule.factors))
        space *= localLength(mesh, factor.size, assignment[i]);
      score.cost += 1e-3 * space;
      score.passing = -llvm::popcount(flow);
      if (!found || score < bestScore) {
        best = std::move(choice);
        bestScore = score;
        found = true;
      }
    }
  }
  return best;
}
