//===- Factors.cpp - Axes of dimensions and axes of factors ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Sharding/Factors.h"

#include "llvm/ADT/STLExtras.h"

using namespace ptlc;
using namespace ptlc::sharding;
using llvm::ArrayRef;
using llvm::SmallVector;

void ptlc::sharding::project(const Mesh &mesh, const ShardingRule &rule, ArrayRef<AxisId> axes,
                             const DimFactors &factors, Assignment &assignment) {
  if (factors.empty())
    return;
  if (factors.size() == 1) {
    assignment[factors[0]].assign(axes.begin(), axes.end());
    return;
  }
  size_t at = 0;
  int64_t left = rule.factors[factors[0]].size;
  for (AxisId axis : axes) {
    while (left == 1 && at + 1 < factors.size())
      left = rule.factors[factors[++at]].size;
    if (left % mesh[axis].size)
      return;
    assignment[factors[at]].push_back(axis);
    left /= mesh[axis].size;
  }
}

AxisList ptlc::sharding::unproject(const Mesh &mesh, const ShardingRule &rule,
                                   const Assignment &assignment, const DimFactors &factors) {
  if (factors.empty())
    return {};
  if (factors.size() == 1)
    return assignment[factors[0]];
  AxisList axes;
  for (unsigned factor : factors) {
    int64_t left = rule.factors[factor].size;
    for (AxisId axis : assignment[factor]) {
      if (left % mesh[axis].size)
        return axes;
      axes.push_back(axis);
      left /= mesh[axis].size;
    }
    if (left != 1)
      return axes;
  }
  return axes;
}

void ptlc::sharding::makeLegal(const Mesh &mesh, const ShardingRule &rule, Assignment &assignment) {
  for (size_t factor = 0; factor < rule.factors.size(); factor++)
    if (rule.factors[factor].kind == FactorKind::Whole)
      assignment[factor].clear();
  auto trim = [&](const ValueFactors &value) {
    for (const DimFactors &factors : value) {
      if (factors.size() < 2)
        continue;
      Assignment exact(rule.factors.size());
      project(mesh, rule, unproject(mesh, rule, assignment, factors), factors, exact);
      for (unsigned factor : factors)
        assignment[factor] = exact[factor];
    }
  };
  // Trimming one dimension may spoil another that shares a factor; lists only get shorter.
  for (size_t round = 0; round <= rule.factors.size(); round++) {
    Assignment before = assignment;
    llvm::for_each(rule.operands, trim);
    llvm::for_each(rule.results, trim);
    if (before == assignment)
      return;
  }
}

std::optional<SmallVector<Sharding>> ptlc::sharding::shardingsOf(const Mesh &mesh,
                                                                 const ShardingRule &rule,
                                                                 const Assignment &assignment) {
  AxisSet partial = 0;
  Fold kind = Fold::Sum;
  for (size_t i = 0; i < rule.factors.size(); i++) {
    FactorKind factor = rule.factors[i].kind;
    if (assignment[i].empty() || factor == FactorKind::Pass || factor == FactorKind::Whole)
      continue;
    Fold fold = factor == FactorKind::Sum   ? Fold::Sum
                : factor == FactorKind::Max ? Fold::Max
                                            : Fold::Min;
    if (partial && fold != kind)
      return std::nullopt;
    kind = fold;
    partial |= setOf(assignment[i]);
  }
  SmallVector<Sharding> result;
  auto add = [&](const ValueFactors &value, AxisSet pending) {
    Sharding sharding(value.size());
    for (size_t dim = 0; dim < value.size(); dim++)
      sharding.dims[dim] = unproject(mesh, rule, assignment, value[dim]);
    sharding.partial = pending;
    sharding.kind = pending ? kind : Fold::Sum;
    result.push_back(sharding);
  };
  for (const ValueFactors &value : rule.operands)
    add(value, 0);
  for (const ValueFactors &value : rule.results)
    add(value, partial);
  return result;
}

bool ptlc::sharding::mayPass(const ShardingRule &rule, ArrayRef<bool> pending) {
  size_t count = llvm::count(pending, true), linear = 0;
  for (unsigned operand : rule.linearOperands)
    linear += pending[operand];
  if (count == 0 || linear != count)
    return false;
  switch (rule.linearity) {
  case Linearity::None:
    return false;
  case Linearity::One:
    return count == 1;
  case Linearity::All:
    return linear == rule.linearOperands.size();
  }
  return false;
}
