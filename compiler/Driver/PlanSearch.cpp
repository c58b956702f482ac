//===- PlanSearch.cpp - Profiles for the planner --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Driver/PlanSearch.h"

#include "lang/AST/Decl.h"
#include "lang/AST/Expr.h"
#include "lang/Parse/Parser.h"

using namespace ptlc;

static constexpr int64_t kShortStack = 3; ///< the first part, the last one, and all between

PlannedProgram::PlannedProgram(const CompileOptions &options, const sema::Program &program,
                               bool half)
    : options(options), program(program), half(half), tensorCuts(tensorCutsOf(program)) {
  shorter = shortDefines();
  if (shorter.empty())
    return;
  CompileOptions shortened = options;
  llvm::append_range(shortened.defines, shorter);
  Frontend frontend(shortened);
  std::optional<sema::Program> analyzed = frontend.analyze();
  if (!analyzed || frontend.diagnostics.hasErrors() || !isSameButShorter(*analyzed))
    shorter.clear();
}

/// `repeat(layers)` without an index is shortened by a definition of `layers`.
std::vector<sema::Define> PlannedProgram::shortDefines() const {
  std::vector<sema::Define> defines;
  Frontend frontend(options);
  std::string reason;
  std::optional<lang::FileId> file = frontend.sources.load(options.input, reason);
  if (!file)
    return defines;
  std::unique_ptr<ast::File> tree = parse::parseFile(frontend.sources, *file, frontend.diagnostics);
  for (const ast::DeclPtr &decl : tree->items) {
    const auto *module = llvm::dyn_cast<ast::ModuleDecl>(decl.get());
    for (const ast::DeclPtr &member :
         module ? llvm::ArrayRef(module->members) : llvm::ArrayRef<ast::DeclPtr>()) {
      const auto *part = llvm::dyn_cast<ast::PartDecl>(member.get());
      if (!part || !part->repeat || !part->repeat->variable.text.empty())
        continue;
      if (const auto *name = llvm::dyn_cast<ast::RefExpr>(part->repeat->count.get()))
        defines.push_back({name->name.str(), std::to_string(kShortStack)});
    }
  }
  return defines;
}

static double elementsOf(const sema::Program &program, const sema::Weight &weight) {
  return static_cast<double>(program.elements(weight.type));
}

/// Whether all weights of the whole program are those of the short one, repeated.
bool PlannedProgram::isSameButShorter(const sema::Program &shortProgram) {
  if (shortProgram.stacks.size() != program.stacks.size())
    return false;
  double whole = 0, repeated = 0;
  for (const sema::Weight &weight : program.weights)
    whole += elementsOf(program, weight);
  for (const sema::Weight &weight : shortProgram.weights) {
    double times = 1;
    for (auto [stack, full] : llvm::zip_equal(shortProgram.stacks, program.stacks)) {
      if (stack.path != full.path || stack.parts.size() > full.parts.size())
        return false;
      // The second part stands for all that are neither first nor last.
      if (stack.parts.size() == kShortStack &&
          llvm::StringRef(weight.path).starts_with(stack.path + ".1."))
        times = static_cast<double>(full.parts.size() - 2);
    }
    repeated += times * elementsOf(shortProgram, weight);
  }
  return whole == repeated;
}

sema::PlanSpec PlannedProgram::planFor(const sema::Program &analyzed, unsigned tensor,
                                       bool sequence) const {
  sema::PlanSpec plan;
  plan.name = "_";
  plan.mesh = {{"dp", 1, {}}, {"tp", static_cast<int64_t>(tensor), {}}};
  auto cut = [&](sema::DimId dim, unsigned axis) {
    sema::ShardRule rule;
    rule.dim = analyzed.dims[dim].name;
    rule.dims = {dim};
    rule.axes.axes = {axis};
    return rule;
  };
  plan.shards.push_back(cut(sema::kBatchDim, 0));
  for (sema::DimId dim : tensorCuts.dims)
    plan.shards.push_back(cut(dim, 1));
  if (sequence) {
    const sema::PartStack &stack = analyzed.stacks[tensorCuts.stack];
    sema::ShardRule rule = cut(*tensorCuts.sequence, 1);
    rule.between =
        sema::StackRef{stack.path, {stack.parts.begin(), stack.parts.end()}, stack.range};
    plan.shards.push_back(std::move(rule));
  }
  return plan;
}

void PlannedProgram::repeatParts(cost::Profile &profile) const {
  for (const sema::PartStack &stack : program.stacks)
    for (cost::Unit &unit : profile.units)
      if (unit.name == stack.path + ".1" && stack.parts.size() > kShortStack)
        unit.repeat = static_cast<unsigned>(stack.parts.size() - 2);
}

std::optional<cost::Profile> PlannedProgram::compile(unsigned tensor, bool sequence,
                                                     unsigned samples) {
  CompileOptions shortened = options;
  llvm::append_range(shortened.defines, shorter);
  llvm::erase_if(shortened.defines,
                 [](const sema::Define &define) { return define.name == "batch"; });
  shortened.defines.push_back({"batch", std::to_string(samples)});
  Frontend frontend(shortened);
  std::optional<sema::Program> analyzed = frontend.analyze();
  if (!analyzed || frontend.diagnostics.hasErrors())
    return std::nullopt;
  std::optional<cost::Profile> result = profiler.run(
      frontend, *analyzed, planFor(*analyzed, tensor, sequence), half, cost::Kernels::Fused);
  if (result && !shorter.empty())
    repeatParts(*result);
  return result;
}

const cost::Profile *PlannedProgram::profile(unsigned tensor, bool sequence, unsigned samples) {
  auto [place, isNew] = profiles.try_emplace({tensor, sequence, samples});
  if (isNew) {
    const cost::Profile *one = samples > 2 ? profile(tensor, sequence, 1) : nullptr;
    const cost::Profile *two = samples > 2 ? profile(tensor, sequence, 2) : nullptr;
    if (one && two)
      place->second = cost::between(*one, *two, samples);
    if (!place->second)
      place->second = compile(tensor, sequence, samples);
  }
  return place->second ? &*place->second : nullptr;
}
