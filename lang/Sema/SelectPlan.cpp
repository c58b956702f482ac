//===- SelectPlan.cpp - The plan to compile -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// `--plan` names a plan, `--mesh` replaces sizes of its axes. A mesh without a
// plan means data parallelism over `dp`, the one mapping that fits every model.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Program.h"

#include "llvm/ADT/StringExtras.h"

namespace ptlc::sema {

/// The plan that `--mesh dp=4` alone stands for.
static std::optional<PlanSpec> dataParallelPlan(llvm::ArrayRef<MeshOverride> mesh,
                                                lang::DiagnosticEngine &diags) {
  PlanSpec plan;
  if (mesh.empty())
    return plan;
  plan.name = "_";
  plan.mesh.push_back({"dp", 1, {}});
  ShardRule rule;
  rule.dim = "batch";
  rule.dims = {kBatchDim};
  rule.axes.axes = {0};
  plan.shards.push_back(std::move(rule));
  for (const MeshOverride &axis : mesh) {
    if (axis.axis != "dp") {
      diags.error({}, "--mesh without --plan knows only the axis 'dp', not '" + axis.axis + "'");
      return std::nullopt;
    }
    plan.mesh.front().size = axis.size;
  }
  return plan;
}

static const PlanSpec *findPlan(const Program &program, llvm::StringRef name,
                                lang::DiagnosticEngine &diags) {
  llvm::SmallVector<llvm::StringRef> names;
  for (const PlanSpec &plan : program.plans) {
    if (plan.name == name)
      return &plan;
    names.push_back(plan.name);
  }
  auto report =
      diags.error({}, "the program has no plan '" + name + "'" + lang::didYouMean(name, names));
  if (!names.empty())
    report.note("its plans are " + llvm::join(names, ", "));
  return nullptr;
}

std::optional<PlanSpec> selectPlan(const Program &program, llvm::StringRef name,
                                   llvm::ArrayRef<MeshOverride> mesh,
                                   lang::DiagnosticEngine &diags) {
  for (const MeshOverride &axis : mesh)
    if (axis.size < 1) {
      diags.error({}, "--mesh: axis '" + axis.axis + "' must have a size of at least 1, is " +
                          llvm::Twine(axis.size));
      return std::nullopt;
    }
  if (name.empty())
    return dataParallelPlan(mesh, diags);
  const PlanSpec *found = findPlan(program, name, diags);
  if (!found)
    return std::nullopt;
  PlanSpec plan = *found;
  for (const MeshOverride &override : mesh) {
    auto axis = llvm::find_if(plan.mesh,
                              [&](const MeshAxis &other) { return other.name == override.axis; });
    if (axis != plan.mesh.end()) {
      axis->size = override.size;
      axis->range = {}; // the plan's line no longer says the size
      continue;
    }
    llvm::SmallVector<llvm::StringRef> names;
    for (const MeshAxis &other : plan.mesh)
      names.push_back(other.name);
    auto report = diags.error({}, "--mesh: plan '" + name + "' has no axis '" + override.axis +
                                      "'" + lang::didYouMean(override.axis, names));
    if (plan.range.isValid())
      report.note(plan.range, names.empty() ? "its mesh has no axes"
                                            : "its axes are " + llvm::join(names, ", "));
    return std::nullopt;
  }
  return plan;
}

} // namespace ptlc::sema
