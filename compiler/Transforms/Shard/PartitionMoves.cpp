//===- PartitionMoves.cpp - Reshards, masks and cuts ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Shard/Partitioner.h"

#include "compiler/Transforms/Shard/Attributes.h"
#include "llvm/ADT/STLExtras.h"

using namespace ptlc;
using namespace ptlc::shard;
using namespace ptlc::sharding;
using namespace mlir;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

Value Partitioner::get(Value value, const Sharding &target) {
  Versions &versions = values.find(value)->second;
  if (Value local = versions.find(target))
    return local;
  RankedTensorType type = typeOf(value);
  const Version *nearest = nullptr;
  double least = 0;
  for (const Version &version : versions.list) {
    double cost = planner.cost(type.getShape(), version.sharding, target);
    if (!nearest || cost < least) {
      nearest = &version;
      least = cost;
    }
  }
  Plan plan = planner.plan(type.getShape(), nearest->sharding, target);
  Value local = nearest->local;
  for (const Step &step : plan) {
    if (Value known = versions.find(step.target)) {
      local = known;
      continue;
    }
    local = emit(step, local, versions, type);
    if (!local)
      return {};
    versions.list.push_back({step.target, local});
  }
  return local;
}

Value Partitioner::emit(const Step &step, Value local, Versions &versions,
                        RankedTensorType global) {
  MLIRContext *context = builder.getContext();
  Location loc = versions.cause;
  auto symbol = FlatSymbolRefAttr::get(context, "mesh");
  auto axes = toAttribute(context, mesh, step.axes);
  auto names = ptl::getDims(global);
  StringAttr dim = step.dim >= 0 ? names[step.dim] : StringAttr();
  RankedTensorType type = ptl::getTensorType(localShape(mesh, global.getShape(), step.target),
                                             global.getElementType(), names);
  auto kind = ptl::FoldKindAttr::get(context, static_cast<ptl::FoldKind>(step.source.kind));
  bool finishes = step.kind == StepKind::AllReduce || step.kind == StepKind::ReduceScatter;
  auto reason =
      builder.getStringAttr(finishes ? versions.reason
                                     : "it is needed whole along '" + (dim ? dim.str() : "") +
                                           "', which is split over " + axesText(mesh, step.axes));
  switch (step.kind) {
  case StepKind::Slice:
    return spmd::SliceOp::create(builder, loc, type, local, dim, symbol, axes, nullptr);
  case StepKind::Mask:
    return spmd::KeepOp::create(builder, loc, type, local, symbol, axes);
  case StepKind::AllGather:
    return spmd::AllGatherOp::create(builder, loc, type, local, dim, symbol, axes, reason);
  case StepKind::AllToAll:
    return spmd::AllToAllOp::create(builder, loc, type, local, dim, names[step.to], symbol, axes,
                                    reason);
  case StepKind::ReduceScatter:
    return spmd::ReduceScatterOp::create(builder, loc, TypeRange{type}, kind, local, dim, symbol,
                                         axes, reason);
  case StepKind::AllReduce:
    return spmd::AllReduceOp::create(builder, loc, TypeRange{type}, kind, ValueRange{local}, symbol,
                                     axes, reason, /*members=*/nullptr)
        .getResult(0);
  case StepKind::Permute:
    emitError(loc) << "exchanging shards between '" << axesText(mesh, step.axes)
                   << "' is not supported yet";
    return {};
  }
  return {};
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

/// Remembers why a result is pending: the fold that was cut, or the operand that already was.
void Partitioner::notePending(Operation *op, const ShardingRule &rule, const Choice &choice) {
  std::string reason;
  Location cause = op->getLoc();
  for (auto [i, axes] : llvm::enumerate(choice.assignment)) {
    if (axes.empty() || rule.factors[i].kind == FactorKind::Whole || !isFolded(rule, i))
      continue;
    reason = "'" + op->getName().getStringRef().str() + "' folds '" + rule.factors[i].name.str() +
             "', which is split over " + axesText(mesh, axes);
  }
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (reason.empty() && choice.operands[i].partial) {
      Versions &versions = values.find(operand)->second;
      reason = versions.reason;
      cause = versions.cause;
    }
  for (Value result : op->getResults()) {
    Versions &versions = values.find(result)->second;
    versions.reason = reason;
    versions.cause = cause;
  }
}
