//===- ptl-parity.cpp - Programs under their plan against one device ------===//
// SPDX-License-Identifier: Apache-2.0
//
// For each .ptl file: compiles it for one device and for its plan, runs the
// functions of both in the reference interpreter on the same numbers, in double
// precision with padding that is NaN, and compares loss, weights, states, norm and metrics;
// replicas must agree bit for bit. One process for many files, since starting one
// takes longer than a small program.
//
// The last line about a file is "NAME equal", "NAME refused: MESSAGE" or
// "NAME wrong: WHAT"; the status is 1 if any is wrong.
//===----------------------------------------------------------------------===//
#include "compiler/Driver/Frontend.h"
#include "compiler/Import/Import.h"
#include "compiler/Pipelines/Pipeline.h"
#include "compiler/Support/Location.h"
#include "test/lib/ptl-run/Compare.h"
#include "llvm/Support/Path.h"

#include <CLI/CLI.hpp>

using namespace ptlc;

namespace {
/// The command line.
struct Command {
  std::vector<std::string> files;
  std::string plan = "p", emit = "comm";
  uint64_t seed = 1;
  double tolerance = 1e-9;
};

/// One file: both programs and what was said about them.
class Parity {
public:
  Parity(const Command &command, const std::string &file)
      : command(command), name(llvm::sys::path::filename(file)), frontend(options),
        context(makeRegistry(), mlir::MLIRContext::Threading::DISABLED) {
    options.input = file;
    options.plan = command.plan;
    context.loadAllAvailableDialects();
    context.printOpOnDiagnostic(false);
  }

  bool run();

private:
  using Module = mlir::OwningOpRef<mlir::ModuleOp>;

  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    registerEverything(registry);
    return registry;
  }
  Module import(const sema::Program &program, const sema::PlanSpec &plan);
  bool lower(mlir::ModuleOp module, Phase last);
  bool compare(mlir::ModuleOp whole, mlir::ModuleOp cut);
  bool refuse();
  bool blame(const llvm::Twine &what);

  const Command &command;
  std::string name;
  CompileOptions options;
  Frontend frontend;
  mlir::MLIRContext context;
  std::string message; ///< of the first error of a pass or of the interpreter
  bool placed = false; ///< whether that error names a line of the program
};
} // namespace

/// A refusal is in order if it has a place; whether its text is a known one isn't judged here.
bool Parity::refuse() {
  std::vector<lang::Diagnostic> all = frontend.diagnostics.sorted();
  for (const lang::Diagnostic &diagnostic : all)
    if (diagnostic.severity == lang::Severity::Error && message.empty()) {
      message = diagnostic.text;
      placed = diagnostic.range.isValid();
    }
  if (!placed)
    return blame("an error without a place: " + message);
  llvm::outs() << name << " refused: " << message << "\n";
  return true;
}

bool Parity::blame(const llvm::Twine &what) {
  llvm::outs() << name << " wrong: " << what << "\n";
  return false;
}

Parity::Module Parity::import(const sema::Program &program, const sema::PlanSpec &plan) {
  return importProgram(context, program, nullptr, plan, frontend.sources, frontend.diagnostics);
}

bool Parity::lower(mlir::ModuleOp module, Phase last) {
  mlir::PassManager manager(&context, mlir::ModuleOp::getOperationName());
  return succeeded(buildPipeline(manager, last, llvm::errs())) && succeeded(manager.run(module));
}

bool Parity::compare(mlir::ModuleOp whole, mlir::ModuleOp cut) {
  run::RunOptions runOptions;
  run::InputOptions inputOptions;
  runOptions.f64 = true;
  runOptions.seed = inputOptions.seed = command.seed;
  inputOptions.disturbed = true;
  run::Inputs inputs(inputOptions);
  if (llvm::Error error = inputs.load(cut))
    return blame(llvm::toString(std::move(error)));
  for (auto function : whole.getOps<mlir::func::FuncOp>()) {
    auto other = cut.lookupSymbol<mlir::func::FuncOp>(function.getName());
    if (!other)
      return blame("function '" + function.getName() + "' is lost");
    if (failed(run::compareModules(function, other, inputs, runOptions, command.tolerance)))
      return blame(message.empty() ? "results of '" + function.getName() + "' differ" : message);
  }
  llvm::outs() << name << " equal\n";
  return true;
}

bool Parity::run() {
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error && message.empty()) {
      message = diagnostic.str();
      placed = bool(userPlace(diagnostic.getLocation()));
    }
    return mlir::success();
  });
  std::optional<sema::Program> program = frontend.analyze();
  std::optional<sema::PlanSpec> plan;
  if (program && !frontend.diagnostics.hasErrors())
    plan = frontend.choosePlan(*program);
  if (!plan || frontend.diagnostics.hasErrors())
    return refuse();
  Module whole = import(*program, sema::PlanSpec()), cut = import(*program, *plan);
  if (!whole || !cut)
    return refuse();
  // What fails on one device, too, has nothing to do with the plan.
  if (!lower(*whole, Phase::Train))
    return refuse();
  if (!lower(*cut, *parsePhase(command.emit)))
    return refuse();
  return compare(*whole, *cut);
}

int main(int argc, char **argv) {
  CLI::App app("ptl-parity compares programs under their plan with the same on one device");
  Command command;
  app.add_option("files", command.files, ".ptl files")->required();
  app.add_option("--plan", command.plan, "The plan's name in each")->capture_default_str();
  app.add_option("--emit", command.emit, "The stage to run: spmd to memory")
      ->capture_default_str()
      ->check(CLI::IsMember({"spmd", "comm", "kernels", "memory"}));
  app.add_option("--seed", command.seed, "Of all numbers")->capture_default_str();
  app.add_option("--tolerance", command.tolerance, "Of a result's largest element")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  bool good = true;
  for (const std::string &file : command.files) {
    good &= Parity(command, file).run();
    llvm::outs().flush();
  }
  return good ? 0 : 1;
}
