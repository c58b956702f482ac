//===- Unsupported.cpp - What this compiler can't carry out yet -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every entry of a plan is checked, but only shards of dimensions in the whole
// program and micro-batches are compiled. What would be lost silently is refused at its line. Axes
// of size 1 change nothing, so rules over them pass.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Program.h"

#include "llvm/ADT/STLExtras.h"

namespace ptlc::sema {

namespace {
class Refusal {
public:
  Refusal(const Program &program, const PlanSpec &plan, lang::DiagnosticEngine &diags)
      : program(program), plan(plan), diags(diags) {}

  bool check();

private:
  bool isWide(llvm::ArrayRef<unsigned> axes) const {
    return llvm::any_of(axes, [&](unsigned axis) { return plan.mesh[axis].size > 1; });
  }
  void refuse(lang::SourceRange range, const llvm::Twine &what) {
    diags.error(range, what + " is not supported yet");
    ok = false;
  }
  void shards();
  void advice();
  void adviceOf(llvm::ArrayRef<Advice> advice);
  void storage();
  void communication();

  const Program &program;
  const PlanSpec &plan;
  lang::DiagnosticEngine &diags;
  bool ok = true;
};
} // namespace

void Refusal::shards() {
  for (const ShardRule &rule : plan.shards) {
    bool onlyBatch = rule.dims.size() == 1 && rule.dims.front() == kBatchDim;
    bool isNone = rule.axes.axes.empty(); // holds by itself where nothing else is split
    bool restricted = !rule.in.empty() || rule.between;
    if (isNone ? !(onlyBatch && restricted) : !isWide(rule.axes.axes))
      continue;
    if (!rule.in.empty())
      refuse(rule.range, "'shard' with 'in:'");
    else if (rule.between)
      refuse(rule.range, "'shard' with 'between:'");
  }
}

void Refusal::adviceOf(llvm::ArrayRef<Advice> advice) {
  for (const Advice &one : advice) {
    bool decided = llvm::any_of(plan.shards, [&](const ShardRule &rule) {
      return rule.in.empty() && !rule.between && llvm::is_contained(rule.dims, one.dim);
    });
    bool holds = llvm::any_of(one.axes, [&](const std::string &name) {
      return llvm::any_of(plan.mesh,
                          [&](const MeshAxis &axis) { return axis.name == name && axis.size > 1; });
    });
    if (holds && !decided)
      refuse(one.range, "this advice, which the mesh has an axis for,");
  }
}

void Refusal::advice() {
  for (const Weight &weight : program.weights)
    adviceOf(weight.advice);
  for (const Parameter &parameter : program.loss.parameters)
    adviceOf(parameter.advice);
  for (const NamedValue &value : program.loss.names)
    adviceOf(value.advice);
}

void Refusal::storage() {
  for (const ZeroRule &rule : plan.zeros)
    if (rule.level > 0 && isWide(rule.over.axes))
      refuse(rule.range, "'zero'");
  for (const PrecisionRule &rule : plan.precisions)
    if (rule.precision != Precision::F32)
      refuse(rule.range, "'precision' other than f32");
  for (const RematRule &rule : plan.remats)
    if (rule.remat != Remat::None)
      refuse(rule.range, "'remat'");
}

void Refusal::communication() {
  if (plan.pipeline && isWide(plan.pipeline->over.axes))
    refuse(plan.pipeline->range, "'pipeline'");
  if (plan.overlap.value_or(false))
    refuse(plan.overlapRange, "'overlap'");
  for (const Promise &promise : plan.promises)
    if (promise.what == Promise::What::Time)
      refuse(promise.range, "'assert time'");
    else if (promise.what == Promise::What::Memory)
      refuse(promise.range, "'assert memory'");
    else if (promise.what == Promise::What::Traffic)
      refuse(promise.range, "'assert traffic'");
}

bool Refusal::check() {
  shards();
  advice();
  storage();
  communication();
  return ok;
}

bool refuseUnsupported(const Program &program, const PlanSpec &plan,
                       lang::DiagnosticEngine &diags) {
  return Refusal(program, plan, diags).check();
}

} // namespace ptlc::sema
