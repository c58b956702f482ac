//===- PartitionMoves.cpp - Reshards, masks and cuts ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Shard/Partitioner.h"

#include "compiler/Transforms/Shard/Attributes.h"
#include "compiler/Transforms/Shard/EmitStep.h"
#include "llvm/ADT/STLExtras.h"

using namespace ptlc;
using namespace ptlc::shard;
using namespace ptlc::sharding;
using namespace mlir;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

const Version &Partitioner::nearest(Value value, const Sharding &target) {
  Versions &versions = values.find(value)->second;
  ArrayRef<int64_t> shape = typeOf(value).getShape();
  const Version *best = nullptr;
  double least = 0;
  for (const Version &version : versions.list) {
    double cost = planner.cost(shape, version.sharding, target);
    if (!best || cost < least) {
      best = &version;
      least = cost;
    }
  }
  return *best;
}

Value Partitioner::get(Value value, const Sharding &target, StringRef insteadOf) {
  Versions &versions = values.find(value)->second;
  if (Value local = versions.find(target))
    return local;
  RankedTensorType type = typeOf(value);
  const Version &from = nearest(value, target);
  Plan plan = planner.plan(type.getShape(), from.sharding, target);
  Detour detour = detourOf(plan, type.getShape());
  Value local = from.local;
  for (const Step &step : plan) {
    if (Value known = versions.find(step.target)) {
      local = known;
      continue;
    }
    local = emit(step, local, versions, type, detour, insteadOf);
    versions.list.push_back({step.target, local});
  }
  return local;
}

/// Whether a step folds what is pending.
static bool finishes(const Step &step) {
  return step.kind == StepKind::AllReduce || step.kind == StepKind::ReduceScatter;
}

/// A plan may use axes that neither side names: what crosses slow links is first cut over faster
/// ones.
Partitioner::Detour Partitioner::detourOf(const Plan &plan, ArrayRef<int64_t> shape) {
  Detour detour;
  if (plan.size() < 2)
    return detour;
  const Sharding &source = plan.front().source, &target = plan.back().target;
  AxisSet named = source.used() | source.partial | target.used() | target.partial;
  AxisList others;
  for (const Step &step : plan)
    for (AxisId axis : step.axes)
      if (!(named & axisBit(axis)) && !llvm::is_contained(others, axis))
        others.push_back(axis);
  if (others.empty())
    return detour;
  double within = 0, across = 0;
  for (AxisId axis = 0; axis < mesh.size(); axis++)
    (named & axisBit(axis) ? across : within) =
        std::max(named & axisBit(axis) ? across : within, mesh[axis].weight);
  detour.text = ", hierarchical: in parts over " + axesText(mesh, others) + ", so that less " +
                (across > within ? "crosses the slower links" : "is sent");
  detour.insteadOf = describe(planner.direct(shape, source, target));
  return detour;
}

/// The steps that send something, and their bytes.
std::string Partitioner::describe(const Plan &plan) const {
  std::string text;
  for (const Step &step : plan)
    if (step.bytes > 0)
      text += (text.empty() ? "" : ", ") + stepName(step.kind).str() + " over " +
              axesText(mesh, step.axes);
  return text + ": " + std::to_string(bytesOf(plan)) + " B";
}

Value Partitioner::emit(const Step &step, Value local, Versions &versions, RankedTensorType global,
                        const Detour &detour, StringRef insteadOf) {
  traffic.bytes += step.bytes * times;
  traffic.messages += step.bytes > 0 ? times : 0;
  traffic.cost += step.cost * static_cast<double>(times);
  bool isFold = finishes(step);
  std::string dim = step.dim >= 0 ? ptl::getDims(global)[step.dim].str() : "";
  std::string reason = versions.cause.reason + detour.text;
  if (!isFold && detour.text.empty())
    reason =
        "it is needed whole along '" + dim + "', which is split over " + axesText(mesh, step.axes);
  Value result = emitStep(builder, versions.cause.loc, mesh, step, local, global,
                          builder.getStringAttr(reason));
  StringRef other =
      isFold && !versions.cause.insteadOf.empty() ? StringRef(versions.cause.insteadOf) : insteadOf;
  if (!detour.text.empty())
    other = detour.insteadOf;
  if (step.bytes > 0 && !other.empty())
    result.getDefiningOp()->setAttr(spmd::kInsteadOf, builder.getStringAttr(other));
  return result;
}

/// A value as messages call it.
static std::string nameOf(Value value, func::FuncOp function) {
  StringAttr name;
  if (auto argument = dyn_cast<BlockArgument>(value))
    name = argument.getOwner() == &function.getBody().front()
               ? function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "ptl.path")
               : StringAttr();
  else
    name = value.getDefiningOp()->getAttrOfType<StringAttr>("ptl.name");
  return name ? "'" + name.str() + "'" : ptl::printDims(ptl::getDims(value));
}

std::string Partitioner::describe(Operation *op, const Choice &choice) {
  std::string text;
  int64_t bytes = 0;
  auto add = [&](Value value, const Sharding &from, const Sharding &to) {
    for (const Step &step : planner.plan(typeOf(value).getShape(), from, to)) {
      if (step.bytes == 0)
        continue;
      text += (text.empty() ? "" : ", ") + stepName(step.kind).str() + " of " +
              nameOf(value, function) + " over " + axesText(mesh, step.axes);
      bytes += step.bytes;
    }
  };
  for (auto [operand, needed] : llvm::zip(op->getOperands(), choice.operands))
    add(operand, nearest(operand, needed).sharding, needed);
  for (auto [result, made] : llvm::zip(op->getResults(), choice.results))
    add(result, made, wanted(result));
  return text.empty() ? text : text + ": " + std::to_string(bytes) + " B";
}

Value Partitioner::mask(Value local, Value global, const Sharding &sharding,
                        ArrayRef<unsigned> dims, double fill) {
  MLIRContext *context = builder.getContext();
  SmallVector<spmd::CutAttr> cuts;
  for (unsigned dim : dims)
    cuts.push_back(
        spmd::CutAttr::get(context, ptl::getDims(global)[dim], typeOf(global).getDimSize(dim),
                           toAttribute(context, mesh, sharding.dims[dim]).getNames(), /*micro=*/1,
                           /*chunks=*/1));
  return spmd::MaskOp::create(builder, local.getLoc(), local.getType(), local,
                              builder.getF64FloatAttr(fill), spmd::CutsAttr::get(context, cuts),
                              FlatSymbolRefAttr::get(context, "mesh"));
}

/// Returns what leaves a fold unchanged, for elements of `type`.
static double identityOf(FactorKind kind, Type type) {
  if (kind != FactorKind::Max && kind != FactorKind::Min)
    return 0;
  double sign = kind == FactorKind::Max ? -1 : 1;
  return isa<FloatType>(type) ? sign * std::numeric_limits<double>::infinity()
                              : sign * std::numeric_limits<int32_t>::max();
}

/// Whether cutting the factor leaves some result pending.
static bool isFolded(const ShardingRule &rule, unsigned factor) {
  for (unsigned result = 0; result < rule.results.size(); result++)
    if (leavesPending(rule, factor, result))
      return true;
  return rule.factors[factor].kind != FactorKind::Pass;
}

/// Padding of an unevenly cut dimension that is folded away must hold the identity of the fold in
/// every operand: zero in one alone does not help if the other holds a NaN. A gather never reads
/// the padding of its table.
LogicalResult Partitioner::maskOperands(Operation *op, const ShardingRule &rule,
                                        const Choice &choice, SmallVectorImpl<Value> &locals) {
  if (isa<ptl::GatherOp>(op))
    return success();
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    SmallVector<unsigned> dims;
    FactorKind kind = FactorKind::Sum;
    for (auto [dim, factors] : llvm::enumerate(rule.operands[i])) {
      bool folded = factors.size() == 1 && isFolded(rule, factors[0]);
      if (!folded || !isUneven(mesh, typeOf(operand).getDimSize(dim), choice.operands[i].dims[dim]))
        continue;
      kind = rule.factors[factors[0]].kind;
      dims.push_back(dim);
    }
    if (!dims.empty())
      locals[i] = mask(locals[i], operand, choice.operands[i], dims,
                       identityOf(kind, typeOf(operand).getElementType()));
  }
  return success();
}

/// Tells an operation that depends on global positions where its rank's part lies.
void Partitioner::setCuts(Operation *from, Operation *to, const ShardingRule &rule,
                          const Choice &choice) {
  MLIRContext *context = builder.getContext();
  StringRef attribute = isa<spmd::MaskOp>(from) ? "cuts" : "cut";
  auto before = from->getAttrOfType<spmd::CutsAttr>(attribute);
  SmallVector<spmd::CutAttr> cuts;
  auto add = [&](StringAttr name, int64_t size, const AxisList &axes) {
    if (axes.empty() || llvm::any_of(cuts, [&](spmd::CutAttr cut) { return cut.getDim() == name; }))
      return;
    spmd::CutAttr known = before ? before.find(name.getValue()) : spmd::CutAttr();
    cuts.push_back(spmd::CutAttr::get(context, name, known ? known.getGlobal() : size,
                                      toAttribute(context, mesh, axes).getNames(),
                                      known ? known.getMicro() : 1, /*chunks=*/1));
  };
  auto visit = [&](Value value, const ValueFactors &factors, const Sharding &sharding) {
    for (auto [dim, list] : llvm::enumerate(factors))
      if (llvm::any_of(list, [&](unsigned f) { return llvm::is_contained(rule.positional, f); }))
        add(ptl::getDims(value)[dim], typeOf(value).getDimSize(dim), sharding.dims[dim]);
  };
  for (auto [i, operand] : llvm::enumerate(from->getOperands()))
    visit(operand, rule.operands[i], choice.operands[i]);
  for (auto [i, result] : llvm::enumerate(from->getResults()))
    visit(result, rule.results[i], choice.results[i]);
  if (before)
    for (spmd::CutAttr cut : before.getCuts())
      if (!llvm::any_of(cuts, [&](spmd::CutAttr c) { return c.getDim() == cut.getDim(); }))
        cuts.push_back(cut);
  if (!cuts.empty())
    to->setAttr(attribute, spmd::CutsAttr::get(context, cuts));
}

/// A constant, or what is repeated, is the same along a dimension however that is cut, so the local
/// code doesn't show which axes were meant; the verifier reads it from the attribute and drops it.
void Partitioner::setReadings(Operation *from, Operation *to, const ShardingRule &rule,
                              const Choice &choice) {
  auto isFree = [&](unsigned factor) {
    return !choice.assignment[factor].empty() && !llvm::is_contained(rule.positional, factor) &&
           llvm::none_of(rule.operands, [&](const ValueFactors &operand) {
             return llvm::any_of(
                 operand, [&](const DimFactors &dim) { return llvm::is_contained(dim, factor); });
           });
  };
  if (llvm::none_of(llvm::seq<unsigned>(0, rule.factors.size()), isFree))
    return;
  SmallVector<Attribute> shardings;
  for (const Sharding &sharding : choice.results)
    shardings.push_back(toAttribute(from->getContext(), mesh, sharding));
  to->setAttr(kShardings, ArrayAttr::get(from->getContext(), shardings));
}

static const char *verbOf(FactorKind kind) {
  return kind == FactorKind::Max   ? "takes the maximum over"
         : kind == FactorKind::Min ? "takes the minimum over"
                                   : "sums over";
}

/// Remembers why a result is pending: the fold that was cut, or the operand that already was.
void Partitioner::notePending(Operation *op, const ShardingRule &rule, const Choice &choice) {
  Cause cause{op->getLoc(), "", choice.insteadOf};
  for (auto [i, axes] : llvm::enumerate(choice.assignment)) {
    if (axes.empty() || rule.factors[i].kind == FactorKind::Whole || !isFolded(rule, i))
      continue;
    cause.reason = "'" + op->getName().getStringRef().str() + "' " + verbOf(rule.factors[i].kind) +
                   " '" + rule.factors[i].name.str() + "', which is split over " +
                   axesText(mesh, axes);
  }
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (cause.reason.empty() && choice.operands[i].partial)
      cause = values.find(operand)->second.cause;
  for (Value result : op->getResults())
    values.find(result)->second.cause = cause;
}
