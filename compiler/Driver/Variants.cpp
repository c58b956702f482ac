//===- Variants.cpp - What a program would need under other plans ---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Driver/Variants.h"

#include "compiler/Codegen/Places.h"
#include "compiler/Import/Import.h"
#include "compiler/Pipelines/Pipeline.h"
#include "compiler/Support/Stages.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

using namespace ptlc;
using namespace mlir;

void ptlc::setRemat(ModuleOp module, ArrayAttr remat) {
  NamedAttrList plan(module->getAttrOfType<DictionaryAttr>("ptl.plan"));
  plan.set("remat", remat);
  module->setAttr("ptl.plan", plan.getDictionary(module.getContext()));
}

OwningOpRef<ModuleOp> Variants::plan(const sema::PlanSpec &plan, ArrayAttr remat) const {
  lang::DiagnosticEngine messages(sources);
  if (!sema::refuseUnsupported(plan, messages) || !sema::checkMicrobatches(program, plan, messages))
    return {};
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> module = importProgram(context, program, sampling, plan, sources, messages);
  if (!module)
    return {};
  if (remat)
    setRemat(*module, remat);
  if (failed(runPipeline(*module, Phase::Memory, [](PassManager &) {}, llvm::nulls())))
    return {};
  return module;
}

std::optional<int64_t> Variants::arenaBytes(const sema::PlanSpec &spec, ArrayAttr remat) const {
  OwningOpRef<ModuleOp> module = plan(spec, remat);
  return module ? std::optional<int64_t>(largestArena(*module)) : std::nullopt;
}

int64_t ptlc::largestArena(ModuleOp module) {
  int64_t largest = 0;
  for (ModuleOp program : rankPrograms(module))
    largest = std::max(largest, codegen::Arena(program).total());
  return largest;
}
