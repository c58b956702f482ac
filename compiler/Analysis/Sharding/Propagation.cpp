//===- Propagation.cpp - Which axes cut which dimension -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// See Propagation.h for the algorithm. Micro-batches, the optimizer and function
// results have no sharding rule of one operation: they tie values to each other,
// dimension by dimension.
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Sharding/Propagation.h"

#include "compiler/Support/Location.h"
#include "dialects/Spmd/Spmd.h"
#include "llvm/ADT/STLExtras.h"

using namespace ptlc;
using namespace ptlc::sharding;
using namespace mlir;

/// Operations that hand elements on one by one; they spread axes before contractions do.
static bool passesElements(Operation *op) {
  return isa<ptl::ElementwiseOp, ptl::BroadcastOp, ptl::ReshapeOp, ptl::SliceOp, ptl::PadOp,
             ptl::ConcatOp, ptl::RopeOp, ptl::StopGradientOp, spmd::ConstrainOp>(op);
}

void Propagation::collect() {
  auto add = [&](Value value) {
    if (!isa<RankedTensorType>(value.getType()))
      return;
    ValueSharding &entry = values[value];
    size_t rank = cast<RankedTensorType>(value.getType()).getRank();
    entry.sharding = Sharding(rank);
    entry.origins.resize(rank);
  };
  for (Value argument : function.getArguments())
    add(argument);
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value result : op->getResults())
      add(result);
    if (auto accumulate = dyn_cast<ptl::AccumulateOp>(op)) {
      Operation *yield = accumulate.getBody().front().getTerminator();
      for (auto [result, yielded] : llvm::zip(accumulate.getResults(), yield->getOperands()))
        ties.emplace_back(result, yielded);
    } else if (auto piece = dyn_cast<ptl::MicrobatchOp>(op)) {
      ties.emplace_back(piece.getX(), piece.getResult());
    } else if (auto optimize = dyn_cast<ptl::OptimizeOp>(op)) {
      unsigned count = optimize.getWeights().size();
      for (auto [i, weight] : llvm::enumerate(optimize.getWeights())) {
        ties.emplace_back(weight, optimize.getGrads()[i]);
        ties.emplace_back(weight, optimize.getNewWeights()[i]);
      }
      for (auto [i, state] : llvm::enumerate(optimize.getStates())) {
        ties.emplace_back(optimize.getWeights()[i % count], state);
        ties.emplace_back(state, optimize.getNewStates()[i]);
      }
    } else if (auto rule = dyn_cast<ShardingRuleInterface>(op)) {
      ruleOf[op] = rule.getShardingRule();
      all.push_back(op);
      if (passesElements(op))
        passing.push_back(op);
    }
  });
}

LogicalResult Propagation::seedValue(Value value, ArrayRef<DimRule> rules, size_t index) {
  const DimRule &rule = rules[index];
  ValueSharding &entry = values[value];
  for (auto [dim, name] : llvm::enumerate(ptl::getDims(value))) {
    if (!llvm::is_contained(rule.dims, name.getValue()) || (entry.closed >> dim & 1))
      continue;
    for (auto [other, list] : llvm::enumerate(entry.sharding.dims)) {
      if (!(setOf(list) & setOf(rule.axes)))
        continue;
      if (entry.origins[other].strength < rule.strength)
        return success(); // a stronger rule has it
      if (isa<BlockArgument>(value))
        return emitError(value.getLoc())
               << "'" << rule.text << "' and '" << entry.origins[other].text
               << "' would cut two dimensions of one value by the same axis";
      if (!isTaken(value, entry.origins[other].rule, index))
        return success();
      list.clear();
      entry.origins[other] = Origin();
    }
    entry.sharding.dims[dim] = rule.axes;
    entry.origins[dim] = {rule.strength, rule.text, index, nullptr};
    entry.closed |= 1u << dim;
  }
  return success();
}

/// Whether a rule takes an axis of a value from one of equal strength.
bool Propagation::isTaken(Value value, size_t known, size_t added) {
  if (known == added)
    return false;
  std::pair<size_t, size_t> pair = std::minmax(known, added);
  if (llvm::none_of(clashes, [&](const Clash &clash) {
        return clash.first == pair.first && clash.second == pair.second;
      }))
    clashes.push_back({pair.first, pair.second, value});
  auto found = decisions.find(pair);
  bool second = found != decisions.end() && found->second;
  return (second ? pair.second : pair.first) == added;
}

/// Returns the values that a rule speaks of.
SmallVector<Value> Propagation::valuesOf(ArrayRef<DimRule> rules, size_t index) {
  const DimRule &rule = rules[index];
  SmallVector<Value> list;
  if (rule.strength == Strength::Dimension) {
    for (auto &entry : values)
      list.push_back(entry.first);
    return list;
  }
  for (BlockArgument argument : function.getArguments()) {
    auto path = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "ptl.path");
    auto role = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "ptl.role");
    if (path && role &&
        ((role.getValue() == "weight" && rule.weights.contains(path.getValue())) ||
         (role.getValue() == "data" && rule.fields.contains(path.getValue()))))
      list.push_back(argument);
  }
  function.walk([&](spmd::ConstrainOp op) {
    if (llvm::is_contained(op.getBy(), int64_t(index)))
      list.push_back(op.getResult());
  });
  return list;
}

/// Gradients, states and new weights lie as directives have cut their weights.
void Propagation::followWeights() {
  for (bool changed = true; std::exchange(changed, false);)
    for (auto [a, b] : ties) {
      const ValueSharding from = values[a];
      ValueSharding &to = values[b];
      for (size_t dim = 0; dim < from.sharding.dims.size(); dim++) {
        bool isNew = (from.closed >> dim & 1) && !(to.closed >> dim & 1);
        if (!isNew)
          continue;
        to.sharding.dims[dim] = from.sharding.dims[dim];
        to.origins[dim] = from.origins[dim];
        to.closed |= 1u << dim;
        changed = true;
      }
    }
}

LogicalResult Propagation::seed(ArrayRef<DimRule> rules) {
  SmallVector<size_t> order;
  for (size_t index = 0; index < rules.size(); index++)
    order.push_back(index);
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return std::make_tuple(rules[a].strength, -rules[a].length) <
           std::make_tuple(rules[b].strength, -rules[b].length);
  });
  for (size_t index : order) {
    for (Value value : valuesOf(rules, index))
      if (failed(seedValue(value, rules, index)))
        return failure();
    if (rules[index].strength != Strength::Dimension)
      followWeights();
  }
  return success();
}

bool Propagation::append(Value value, unsigned dim, const AxisList &axes, const Origin &origin) {
  ValueSharding &entry = values[value];
  AxisList &old = entry.sharding.dims[dim];
  if ((entry.closed >> dim & 1) || axes.size() <= old.size() ||
      !std::equal(old.begin(), old.end(), axes.begin()))
    return false;
  for (auto [other, list] : llvm::enumerate(entry.sharding.dims))
    if (other != dim && (setOf(list) & setOf(axes)))
      return false;
  if (mesh.product(axes) > cast<RankedTensorType>(value.getType()).getDimSize(dim))
    return false;
  old = axes;
  entry.origins[dim] = origin;
  return true;
}

bool Propagation::tie(Value a, Value b) {
  bool changed = false;
  for (size_t dim = 0; dim < values[a].sharding.dims.size(); dim++) {
    AxisList fromA = values[a].sharding.dims[dim], fromB = values[b].sharding.dims[dim];
    changed |= append(b, dim, fromA, values[a].origins[dim]);
    changed |= append(a, dim, fromB, values[b].origins[dim]);
  }
  return changed;
}

namespace {
/// What one tensor of an operation says about a factor.
struct Vote {
  const Origin *origin;
  int64_t elements;
  unsigned position;
  AxisList axes;
};
} // namespace

static bool stronger(const Vote &a, const Vote &b) {
  return std::make_tuple(a.origin->strength, -a.elements, a.position) <
         std::make_tuple(b.origin->strength, -b.elements, b.position);
}

/// Returns the winning vote: the strongest, or a longer one that extends it.
static const Vote *choose(SmallVector<Vote, 4> &votes) {
  llvm::stable_sort(votes, stronger);
  const Vote *best = votes.empty() ? nullptr : &votes.front();
  for (const Vote &vote : votes)
    if (vote.axes.size() > best->axes.size() &&
        std::equal(best->axes.begin(), best->axes.end(), vote.axes.begin()))
      best = &vote;
  return best;
}

/// Gives each factor the axes of its best vote; an axis serves one factor: the strongest, pass
/// before reduction, the larger tensor, the first. `origins` gets where each came from.
static Assignment settle(const ShardingRule &rule, MutableArrayRef<SmallVector<Vote, 4>> votes,
                         MutableArrayRef<Origin> origins) {
  SmallVector<unsigned> order;
  SmallVector<const Vote *> best(rule.factors.size());
  for (size_t factor = 0; factor < votes.size(); factor++)
    if ((best[factor] = choose(votes[factor])))
      order.push_back(factor);
  llvm::stable_sort(order, [&](unsigned a, unsigned b) {
    auto key = [&](unsigned f) {
      return std::make_tuple(best[f]->origin->strength, rule.factors[f].kind != FactorKind::Pass,
                             -best[f]->elements, best[f]->position);
    };
    return key(a) < key(b);
  });
  Assignment final(rule.factors.size());
  AxisSet taken = 0;
  for (unsigned factor : order) {
    origins[factor] = *best[factor]->origin;
    for (AxisId axis : best[factor]->axes) {
      if (taken & axisBit(axis))
        break;
      final[factor].push_back(axis);
    }
    taken |= setOf(final[factor]);
  }
  return final;
}

bool Propagation::step(Operation *op, Strength strength) {
  const ShardingRule &rule = ruleOf[op];
  SmallVector<Value> tensors(op->getOperands());
  SmallVector<const ValueFactors *> dims;
  for (const ValueFactors &value : rule.operands)
    dims.push_back(&value);
  tensors.append(op->result_begin(), op->result_end());
  for (const ValueFactors &value : rule.results)
    dims.push_back(&value);

  SmallVector<SmallVector<Vote, 4>> votes(rule.factors.size());
  for (auto [position, tensor] : llvm::enumerate(tensors)) {
    const ValueSharding &entry = values[tensor];
    int64_t elements = cast<RankedTensorType>(tensor.getType()).getNumElements();
    for (auto [dim, factors] : llvm::enumerate(*dims[position])) {
      const AxisList &axes = entry.sharding.dims[dim];
      if (axes.empty() || entry.origins[dim].strength > strength)
        continue;
      Assignment got(rule.factors.size());
      project(mesh, rule, axes, factors, got);
      for (unsigned factor : factors)
        if (!got[factor].empty() && rule.factors[factor].kind != FactorKind::Whole)
          votes[factor].push_back(
              {&entry.origins[dim], elements, static_cast<unsigned>(position), got[factor]});
    }
  }

  SmallVector<Origin> origins(rule.factors.size());
  Assignment final = settle(rule, votes, origins);
  bool changed = false;
  for (auto [position, tensor] : llvm::enumerate(tensors))
    for (auto [dim, factors] : llvm::enumerate(*dims[position])) {
      AxisList axes = unproject(mesh, rule, final, factors);
      if (axes.empty())
        continue;
      for (unsigned factor : factors)
        if (!final[factor].empty()) {
          Origin origin = origins[factor];
          origin.via = op;
          changed |= append(tensor, dim, axes, origin);
          break;
        }
    }
  return changed;
}

bool Propagation::sweep(ArrayRef<Operation *> list, Strength strength) {
  bool changed = false;
  for (Operation *op : list)
    changed |= step(op, strength);
  for (auto [a, b] : ties)
    changed |= tie(a, b);
  for (Operation *op : llvm::reverse(list))
    changed |= step(op, strength);
  return changed;
}

LogicalResult Propagation::run(ArrayRef<DimRule> rules, const Decisions &decisions) {
  this->decisions = decisions;
  collect();
  if (failed(seed(rules)))
    return failure();
  if (rules.empty())
    return success();
  for (Strength strength : {Strength::Path, Strength::Between, Strength::Dimension,
                            Strength::Advice, Strength::Derived})
    for (ArrayRef<Operation *> list : {ArrayRef(passing), ArrayRef(all)})
      while (sweep(list, strength))
        ;
  return success();
}
