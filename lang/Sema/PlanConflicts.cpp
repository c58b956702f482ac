//===- PlanConflicts.cpp - Rules that contradict each other ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Two rules of equal strength for one thing must agree, and no weight or field
// may be split twice over one axis. Both are errors of the plan, found without
// propagation; for other values the partitioner decides by cost.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Plan.h"

namespace ptlc::sema {

static bool hasWeight(const PathRef &path, uint32_t weight) {
  return std::binary_search(path.weights.begin(), path.weights.end(), weight);
}

/// Whether two paths name something in common.
static bool overlap(const Program &program, const PathRef &a, const PathRef &b) {
  using Target = PathRef::Target;
  if (llvm::any_of(a.weights, [&](uint32_t weight) { return hasWeight(b, weight); }))
    return true;
  auto anyInside = [&](const PathRef &inner, const PathRef &outer) {
    return llvm::any_of(inner.parts,
                        [&](PartId part) { return isInside(program, part, outer.parts); });
  };
  if (a.target == Target::Weight || b.target == Target::Weight)
    return false; // shared weights were looked at
  if (a.target == Target::Value && b.target == Target::Value)
    return a.valueName == b.valueName &&
           llvm::any_of(a.parts, [&](PartId part) { return llvm::is_contained(b.parts, part); });
  return (b.target == Target::Part && anyInside(a, b)) ||
         (a.target == Target::Part && anyInside(b, a));
}

/// Whether two lists of paths (none means everything) clash: overlap with equal strength.
static bool clash(const Program &program, llvm::ArrayRef<PathRef> a, llvm::ArrayRef<PathRef> b) {
  if (a.empty() || b.empty())
    return a.empty() && b.empty();
  for (const PathRef &first : a)
    for (const PathRef &second : b)
      if (first.strength == second.strength && overlap(program, first, second))
        return true;
  return false;
}

static void report(Context &ctx, lang::SourceRange later, lang::SourceRange earlier,
                   const llvm::Twine &what) {
  ctx.error(later, what + " contradicts a rule of equal strength")
      .note(earlier, "the other is " + ctx.lineOf(earlier, later));
}

/// Reports pairs of rules with clashing `in:` that differ.
template <typename Rule, typename Differ>
static void checkPairs(Context &ctx, const std::vector<Rule> &rules, const llvm::Twine &what,
                       Differ differ) {
  for (size_t later = 0; later < rules.size(); ++later)
    for (size_t earlier = 0; earlier < later; ++earlier)
      if (differ(rules[later], rules[earlier]) &&
          clash(ctx.program, rules[later].in, rules[earlier].in)) {
        report(ctx, rules[later].range, rules[earlier].range, what);
        return;
      }
}

static bool differ(const PlanSpec &plan, const ShardRule &a, const ShardRule &b) {
  bool sameDims = llvm::any_of(a.dims, [&](DimId dim) { return llvm::is_contained(b.dims, dim); });
  if (!sameDims || plan.isVoid(a.axes) || plan.isVoid(b.axes) ||
      plan.wide(a.axes) == plan.wide(b.axes) || a.between.has_value() != b.between.has_value())
    return false;
  if (!a.between)
    return true;
  return llvm::any_of(a.between->parts,
                      [&](PartId part) { return llvm::is_contained(b.between->parts, part); });
}

/// The rule that decides how `dim` of a weight is split, or null.
static const ShardRule *ruleFor(const PlanSpec &plan, DimId dim, std::optional<uint32_t> weight) {
  const ShardRule *best = nullptr;
  unsigned strength = 0;
  for (const ShardRule &rule : plan.shards) {
    if (rule.between || plan.isVoid(rule.axes) || !llvm::is_contained(rule.dims, dim))
      continue;
    if (rule.in.empty() && !best)
      best = &rule;
    for (const PathRef &path : rule.in)
      if (weight && path.strength > strength && hasWeight(path, *weight)) {
        best = &rule;
        strength = path.strength;
      }
  }
  return best;
}

/// Checks that no two dimensions of a weight or field share an axis; false after an error.
static bool checkAxes(Context &ctx, const PlanSpec &plan, const Type &type,
                      std::optional<uint32_t> weight, const std::string &name,
                      lang::SourceRange declaration) {
  std::vector<std::pair<const ShardRule *, DimId>> owner(plan.mesh.size(), {nullptr, 0});
  for (DimId dim : type.dims) {
    const ShardRule *rule = ruleFor(plan, dim, weight);
    for (unsigned axis : rule ? plan.wide(rule->axes) : llvm::SmallVector<unsigned, 2>()) {
      auto &[other, otherDim] = owner[axis];
      if (!other) {
        other = rule;
        otherDim = dim;
        continue;
      }
      lang::SourceRange later =
          std::max(rule->range, other->range, [](auto &a, auto &b) { return a.begin < b.begin; });
      ctx.error(later, "'" + ctx.dimName(otherDim) + "' and '" + ctx.dimName(dim) + "' of '" +
                           name + "' are both split over axis '" + plan.mesh[axis].name + "'")
          .note(declaration, "'" + name + "' is declared " + ctx.lineOf(declaration, later));
      return false;
    }
  }
  return true;
}

/// Ranks along the pipeline's axis compute different layers, so nothing is split or stored over it.
static void checkPipelineAxis(Context &ctx, const PlanSpec &plan) {
  if (!plan.pipeline)
    return;
  unsigned axis = plan.pipeline->over.axes.front();
  auto check = [&](const AxisList &list, const llvm::Twine &what) {
    if (!llvm::is_contained(list.axes, axis))
      return;
    ctx.error(list.range, what + " over '" + plan.mesh[axis].name +
                              "', whose ranks are the pipeline's stages and have different layers")
        .note(plan.pipeline->range,
              "the pipeline is " + ctx.lineOf(plan.pipeline->range, list.range));
  };
  for (const ShardRule &rule : plan.shards)
    check(rule.axes, "'" + rule.dim + "' can't be split");
  for (const ZeroRule &rule : plan.zeros)
    check(rule.over, "'zero' can't spread storage");
}

void checkConflicts(Context &ctx, const PlanSpec &plan) {
  checkPipelineAxis(ctx, plan);
  checkPairs(ctx, plan.shards, "'shard'",
             [&](const ShardRule &a, const ShardRule &b) { return differ(plan, a, b); });
  checkPairs(ctx, plan.zeros, "'zero'", [](const ZeroRule &a, const ZeroRule &b) {
    return a.level != b.level || a.over.axes != b.over.axes;
  });
  checkPairs(
      ctx, plan.precisions, "'precision'",
      [](const PrecisionRule &a, const PrecisionRule &b) { return a.precision != b.precision; });
  checkPairs(ctx, plan.remats, "'remat'",
             [](const RematRule &a, const RematRule &b) { return a.remat != b.remat; });
  for (auto [index, weight] : llvm::enumerate(ctx.program.weights))
    if (!checkAxes(ctx, plan, weight.type, index, weight.path, weight.range))
      return;
  for (const Parameter &field : ctx.program.loss.parameters)
    if (!checkAxes(ctx, plan, ctx.program.loss.type(field.value), std::nullopt, field.name,
                   field.range))
      return;
}

} // namespace ptlc::sema
