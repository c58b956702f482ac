//===- Inference.cpp - The shardings of an operation's results ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Shard/Inference.h"

#include "compiler/Transforms/Shard/Attributes.h"

using namespace ptlc;
using namespace ptlc::sharding;
using namespace ptlc::shard;
using namespace mlir;

static int64_t sizeOf(Value value, unsigned dim) {
  return cast<RankedTensorType>(value.getType()).getDimSize(dim);
}

static bool hasFactor(const ValueFactors &value, unsigned factor) {
  return llvm::any_of(value,
                      [&](const DimFactors &dim) { return llvm::is_contained(dim, factor); });
}

bool shard::isFoldedAway(const ShardingRule &rule, unsigned factor) {
  return rule.factors[factor].kind != FactorKind::Pass ||
         llvm::any_of(rule.results,
                      [&](const ValueFactors &result) { return !hasFactor(result, factor); });
}

/// A dimension that is one factor may be cut unevenly; parts of a compound one may not.
bool Inference::isWholeDim(Value value, unsigned dim, const DimFactors &factors) const {
  return factors.size() == 1 && (rule.factors[factors[0]].kind == FactorKind::Whole ||
                                 rule.factors[factors[0]].size == sizeOf(value, dim));
}

LogicalResult Inference::cutFactor(unsigned operand, unsigned factor, const AxisList &axes) {
  const Factor &known = rule.factors[factor];
  if (!axes.empty() && known.kind == FactorKind::Whole)
    return wrong(op) << "needs all of '" << known.name.getValue() << "', which is cut by "
                     << listText(mesh, axes) << " in operand " << operand;
  if (cuts[factor] && *cuts[factor] != axes)
    return wrong(op) << "has '" << known.name.getValue() << "' cut by "
                     << listText(mesh, *cuts[factor]) << " in one operand and by "
                     << listText(mesh, axes) << " in operand " << operand;
  cuts[factor] = axes;
  return success();
}

/// Of a compound dimension, axes cut the major factor until it is used up, then the next.
LogicalResult Inference::readDim(unsigned operand, unsigned dim, const AxisList &axes) {
  const DimFactors &factors = rule.operands[operand][dim];
  if (isWholeDim(global->getOperand(operand), dim, factors))
    return cutFactor(operand, factors[0], axes);
  SmallVector<AxisList> lists(factors.size());
  size_t at = 0;
  int64_t left = factors.empty() ? 1 : rule.factors[factors[0]].size;
  for (AxisId axis : axes) {
    while (left == 1 && at + 1 < factors.size())
      left = rule.factors[factors[++at]].size;
    if (left % mesh[axis].size)
      return wrong(op) << "can't be done on parts of operand " << operand << ", whose '"
                       << ptl::getDims(global->getOperand(operand))[dim].getValue()
                       << "' is cut by " << listText(mesh, axes);
    lists[at].push_back(axis);
    left /= mesh[axis].size;
  }
  for (auto [factor, list] : llvm::zip(factors, lists))
    if (failed(cutFactor(operand, factor, list)))
      return failure();
  return success();
}

LogicalResult Inference::claimAxes() {
  for (auto [factor, axes] : llvm::enumerate(cuts))
    for (AxisId axis : axes.value_or(AxisList())) {
      auto [found, isNew] = owner.try_emplace(axis, factor);
      if (!isNew)
        return wrong(op) << "has both '" << rule.factors[found->second].name.getValue() << "' and '"
                         << rule.factors[factor].name.getValue() << "' cut by '" << mesh[axis].name
                         << "'";
    }
  return success();
}

bool Inference::isLinear(ArrayRef<bool> isPending) const {
  size_t all = llvm::count(isPending, true), linear = 0;
  for (unsigned operand : rule.linearOperands)
    linear += isPending[operand];
  if (linear != all)
    return false;
  return rule.linearity == Linearity::One   ? all == 1
         : rule.linearity == Linearity::All ? all == rule.linearOperands.size()
                                            : false;
}

LogicalResult Inference::checkPending(ArrayRef<Sharding> operands) {
  for (AxisId axis = 0; axis < mesh.size(); axis++) {
    SmallVector<bool> isPending;
    bool sums = true;
    for (const Sharding &operand : operands) {
      isPending.push_back(operand.partial & axisBit(axis));
      sums &= !isPending.back() || operand.kind == Fold::Sum;
    }
    if (!llvm::is_contained(isPending, true))
      continue;
    pending |= axisBit(axis);
    if (auto cut = owner.find(axis); cut != owner.end())
      return wrong(op) << "has an operand that is pending over '" << mesh[axis].name
                       << "', which cuts '" << rule.factors[cut->second].name.getValue()
                       << "' in another";
    if (!sums || !isLinear(isPending))
      return wrong(op) << "isn't linear in what is pending over '" << mesh[axis].name << "'";
  }
  return success();
}

LogicalResult Inference::readOperands(ArrayRef<Sharding> operands) {
  for (auto [i, sharding] : llvm::enumerate(operands))
    for (auto [dim, axes] : llvm::enumerate(sharding.dims))
      if (failed(readDim(i, dim, axes)))
        return failure();
  return success(succeeded(claimAxes()) && succeeded(checkPending(operands)));
}

/// How a dimension that no operand has is cut. Where the local code depends on it, its cut says so;
/// of a constant or a repetition every reading with the right length is right.
AxisList Inference::freeDim(unsigned index, unsigned dim) const {
  AxisList axes;
  auto add = [&](ArrayRef<StringAttr> names) {
    for (StringAttr name : names)
      axes.push_back(mesh.find(name.getValue()));
  };
  StringAttr name = ptl::getDims(global->getResult(index))[dim];
  spmd::CutsAttr attribute = cutsOf(op);
  if (spmd::CutAttr cut = attribute ? attribute.find(name.getValue()) : spmd::CutAttr())
    add(cut.getAxes());
  else if (auto meant = op->getAttrOfType<ArrayAttr>(kShardings))
    add(cast<spmd::ShardingAttr>(meant[index]).getAxes(dim));
  return axes;
}

FailureOr<AxisList> Inference::resultDim(unsigned index, unsigned dim) {
  const DimFactors &factors = rule.results[index][dim];
  Value value = global->getResult(index);
  if (isWholeDim(value, dim, factors)) {
    unsigned factor = factors[0];
    if (!cuts[factor]) {
      // From here on the factor is as if an operand had it.
      cuts[factor] = freeDim(index, dim);
      for (AxisId axis : *cuts[factor])
        if (axis >= mesh.size() || (pending & axisBit(axis)) ||
            rule.factors[factor].kind == FactorKind::Whole ||
            !owner.try_emplace(axis, factor).second)
          return wrong(op) << "can't cut '" << rule.factors[factor].name.getValue() << "' by "
                           << listText(mesh, *cuts[factor])
                           << ": it must be whole, or some of these are in use";
    }
    return *cuts[factor];
  }
  AxisList axes;
  bool usedUp = true;
  for (unsigned factor : factors) {
    int64_t left = rule.factors[factor].size;
    for (AxisId axis : cuts[factor].value_or(AxisList())) {
      if (!usedUp || left % mesh[axis].size)
        return wrong(op) << "can't make '" << ptl::getDims(value)[dim].getValue() << "' of parts: '"
                         << rule.factors[factor].name.getValue() << "' is cut by "
                         << listText(mesh, *cuts[factor]);
      axes.push_back(axis);
      left /= mesh[axis].size;
    }
    usedUp = usedUp && left == 1;
  }
  return axes;
}

static Fold foldOf(FactorKind kind) {
  return kind == FactorKind::Max ? Fold::Max : kind == FactorKind::Min ? Fold::Min : Fold::Sum;
}

/// What operands left pending flows on; what a cut fold leaves is added.
LogicalResult Inference::addPending(unsigned index, Sharding &sharding) {
  sharding.partial = pending;
  for (auto [factor, axes] : llvm::enumerate(cuts)) {
    if (!axes || axes->empty() || hasFactor(rule.results[index], factor))
      continue;
    Fold fold = foldOf(rule.factors[factor].kind);
    if (sharding.partial && sharding.kind != fold)
      return wrong(op) << "would leave result " << index << " pending by two folds";
    sharding.kind = fold;
    sharding.partial |= setOf(*axes);
  }
  return success();
}

FailureOr<Sharding> Inference::result(unsigned index) {
  Sharding sharding(rule.results[index].size());
  for (unsigned dim = 0; dim < sharding.dims.size(); dim++) {
    FailureOr<AxisList> axes = resultDim(index, dim);
    if (failed(axes))
      return failure();
    sharding.dims[dim] = *axes;
  }
  if (failed(addPending(index, sharding)))
    return failure();
  return sharding;
}

LogicalResult Inference::checkCuts(ArrayRef<Sharding> operands, ArrayRef<Sharding> results) {
  spmd::CutsAttr before = cutsOf(global), found = cutsOf(op);
  llvm::MapVector<StringAttr, spmd::CutAttr> expected;
  if (before)
    for (spmd::CutAttr cut : before.getCuts())
      expected[cut.getDim()] = cut;
  auto read = [&](Value value, const ValueFactors &dims, const Sharding &sharding) {
    for (auto [dim, factors] : llvm::enumerate(dims)) {
      bool matters =
          llvm::any_of(factors, [&](unsigned f) { return llvm::is_contained(rule.positional, f); });
      if (!matters || sharding.dims[dim].empty())
        continue;
      StringAttr name = ptl::getDims(value)[dim];
      spmd::CutAttr known = before ? before.find(name.getValue()) : spmd::CutAttr();
      expected[name] =
          spmd::CutAttr::get(op->getContext(), name, known ? known.getGlobal() : sizeOf(value, dim),
                             toAttribute(op->getContext(), mesh, sharding.dims[dim]).getNames(),
                             known ? known.getMicro() : 1, 1);
    }
  };
  for (auto [i, value] : llvm::enumerate(global->getOperands()))
    read(value, rule.operands[i], operands[i]);
  for (auto [i, value] : llvm::enumerate(global->getResults()))
    read(value, rule.results[i], results[i]);
  size_t count = found ? found.getCuts().size() : 0;
  bool equal = count == expected.size() && llvm::all_of(expected, [&](auto &entry) {
                 return found.find(entry.first.getValue()) == entry.second;
               });
  if (equal)
    return success();
  InFlightDiagnostic error = wrong(op) << "should be compiled for the part <[";
  for (auto &entry : expected)
    error << " " << entry.second;
  error << " ]>, is for " << (found ? Attribute(found) : UnitAttr::get(op->getContext()));
  return error;
}
