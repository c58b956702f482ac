//===- Candidates.cpp - Ways to divide one operation ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Shard/Candidates.h"

#include "llvm/ADT/STLExtras.h"

using namespace ptlc;
using namespace ptlc::sharding;
using llvm::SmallVector;

namespace {
/// A tensor's opinion: a sharding, read through the factors of its dimensions.
struct Opinion {
  const Sharding *sharding;
  const ValueFactors *factors;
};
} // namespace

/// Lets `opinion` speak about factors that nobody has spoken of.
static void listen(const Mesh &mesh, const ShardingRule &rule, const Opinion &opinion,
                   Assignment &assignment, AxisSet &used) {
  for (auto [dim, factors] : llvm::enumerate(*opinion.factors)) {
    Assignment got(rule.factors.size());
    project(mesh, rule, opinion.sharding->dims[dim], factors, got);
    for (unsigned factor : factors) {
      const AxisList &axes = got[factor];
      if (axes.empty() || !assignment[factor].empty() || (setOf(axes) & used) ||
          rule.factors[factor].kind == FactorKind::Whole)
        continue;
      assignment[factor] = axes;
      used |= setOf(axes);
    }
  }
}

static void addUnique(SmallVector<Assignment> &list, Assignment assignment) {
  if (!llvm::is_contained(list, assignment))
    list.push_back(std::move(assignment));
}

SmallVector<Assignment> ptlc::shard::candidates(const Mesh &mesh, const Situation &situation) {
  const ShardingRule &rule = situation.rule;
  SmallVector<Opinion> wanted, leads;
  for (auto [i, sharding] : llvm::enumerate(situation.wantedResults))
    wanted.push_back({&sharding, &rule.results[i]});
  for (auto [i, sharding] : llvm::enumerate(situation.wantedOperands))
    wanted.push_back({&sharding, &rule.operands[i]});
  leads = wanted;
  for (auto [i, sharding] : llvm::enumerate(situation.actualOperands))
    leads.push_back({&sharding, &rule.operands[i]});

  SmallVector<Assignment> list;
  for (const Opinion &lead : leads) {
    Assignment assignment(rule.factors.size());
    AxisSet used = 0;
    listen(mesh, rule, lead, assignment, used);
    for (const Opinion &opinion : wanted)
      listen(mesh, rule, opinion, assignment, used);
    makeLegal(mesh, rule, assignment);
    if (shardingsOf(mesh, rule, assignment))
      addUnique(list, std::move(assignment));
  }
  AxisSet pending = 0;
  for (const Sharding &sharding : situation.actualOperands)
    pending |= sharding.partial;
  for (size_t i = 0, count = pending ? list.size() : 0; i < count; i++) {
    Assignment without = list[i];
    for (AxisList &axes : without)
      llvm::erase_if(axes, [&](AxisId axis) { return pending & axisBit(axis); });
    makeLegal(mesh, rule, without);
    if (shardingsOf(mesh, rule, without))
      addUnique(list, std::move(without));
  }
  if (list.empty())
    list.emplace_back(rule.factors.size());
  return list;
}
