//===- OneRank.cpp - What ./model --check compares with -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The file is read again, into a context of its own. Only what training needs is
// compiled: neither evaluation nor sampling.
//===----------------------------------------------------------------------===//
#include "compiler/Driver/OneRank.h"

#include "compiler/Driver/Messages.h"
#include "compiler/Import/Import.h"
#include "compiler/Pipelines/Pipeline.h"
#include "mlir/Pass/PassManager.h"

using namespace ptlc;
using namespace mlir;

OneRank::OneRank(const CompileOptions &given, const codegen::TargetOptions &target,
                 const DialectRegistry &registry)
    : options(given), target(target), frontend(options), context(registry), thread([this] {
        llvm::raw_string_ostream stream(messages);
        isCompiled = compile(stream);
      }) {}

OneRank::~OneRank() {
  if (thread.joinable())
    thread.join();
}

OwningOpRef<ModuleOp> OneRank::import() {
  std::optional<sema::Program> program = frontend.analyze();
  std::optional<sema::PlanSpec> plan;
  if (program)
    plan = frontend.choosePlan(*program);
  if (!plan)
    return {};
  for (sema::MeshAxis &axis : plan->mesh)
    axis.size = 1;
  plan->pipeline.reset();
  plan->promises.clear();
  llvm::erase_if(plan->remats, [](const sema::RematRule &rule) {
    return rule.remat == sema::Remat::Auto; // there is no promise left to fit
  });
  program->train.evals.clear();
  return importProgram(context, *program, nullptr, *plan, frontend.sources, frontend.diagnostics);
}

bool OneRank::compile(llvm::raw_ostream &errors) {
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = import();
  if (!frontend.finish(errors) || !module)
    return false;
  MessageHandler handler(context, frontend.sources, errors);
  if (failed(runPipeline(*module, Phase::Memory, [](PassManager &) {}, errors)))
    return false;
  target.symbol = "ptlrt_one_rank";
  return succeeded(codegen::compileToObject(*module, target, bytes));
}

bool OneRank::finish(llvm::raw_ostream &errors) {
  thread.join();
  if (!isCompiled)
    errors << messages
           << "ptlc: error: the program for one rank, which './model --check' compares with, can't "
              "be compiled; '--no-check' leaves it out\n";
  return isCompiled;
}
