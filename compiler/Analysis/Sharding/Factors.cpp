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

static bool isAlong(const ValueFactors &value, unsigned factor) {
  return llvm::any_of(value,
                      [&](const DimFactors &dim) { return llvm::is_contained(dim, factor); });
}

bool ptlc::sharding::leavesPending(const ShardingRule &rule, unsigned factor, unsigned result) {
  FactorKind kind = rule.factors[factor].kind;
  if (kind != FactorKind::Pass)
    return kind != FactorKind::Whole;
  const ValueFactors &dims = rule.results[result];
  if (isAlong(dims, factor))
    return false;
  // An operand that shares nothing with the result belongs to another one (the other weights of an
  // optimizer).
  return llvm::any_of(rule.operands, [&](const ValueFactors &operand) {
    return isAlong(operand, factor) && llvm::any_of(dims, [&](const DimFactors &dim) {
             return llvm::any_of(dim, [&](unsigned own) { return isAlong(operand, own); });
           });
  });
}

static Fold foldOf(FactorKind kind) {
  return kind == FactorKind::Max ? Fold::Max : kind == FactorKind::Min ? Fold::Min : Fold::Sum;
}

/// Sets what is pending on result `index`; false if it would be pending in two ways.
static bool setPending(const ShardingRule &rule, const Assignment &assignment, unsigned index,
                       Sharding &sharding) {
  for (unsigned i = 0; i < rule.factors.size(); i++) {
    if (assignment[i].empty() || !leavesPending(rule, i, index))
      continue;
    Fold fold = foldOf(rule.factors[i].kind);
    if (sharding.partial && fold != sharding.kind)
      return false;
    sharding.kind = fold;
    sharding.partial |= setOf(assignment[i]);
  }
  return true;
}

std::optional<SmallVector<Sharding>> ptlc::sharding::shardingsOf(const Mesh &mesh,
                                                                 const ShardingRule &rule,
                                                                 const Assignment &assignment) {
  SmallVector<Sharding> result;
  auto add = [&](const ValueFactors &value) {
    Sharding sharding(value.size());
    for (size_t dim = 0; dim < value.size(); dim++)
      sharding.dims[dim] = unproject(mesh, rule, assignment, value[dim]);
    result.push_back(sharding);
  };
  llvm::for_each(rule.operands, add);
  for (auto [index, value] : llvm::enumerate(rule.results)) {
    add(value);
    if (!setPending(rule, assignment, index, result.back()))
      return std::nullopt;
  }
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
