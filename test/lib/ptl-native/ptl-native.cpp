//===- ptl-native.cpp - Compares generated code with the interpreter ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs a function of a module twice on the same inputs: by the reference
// interpreter, as it is, and as machine code, after the passes that `--passes`
// names and the memory planner. Prints every result that differs. With
// `--target=cuda` row kernels are those of the GPU, in an emulator.
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Passes.h"
#include "compiler/Transforms/Fuse/Passes.h"
#include "compiler/Transforms/Memory/Passes.h"
#include "dialects/Spmd/Spmd.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Transforms/Passes.h"
#include "test/lib/ptl-native/EmulatedKernels.h"
#include "test/lib/ptl-native/Emulator.h"
#include "test/lib/ptl-native/Native.h"
#include "test/lib/ptl-run/Compare.h"
#include "llvm/Support/SourceMgr.h"

#include <CLI/CLI.hpp>

using namespace ptlc;

namespace {
struct Command {
  std::string file, function, passes = "fuse-outline-single,memory-plan-buffers";
  double tolerance = 1e-5;
  uint64_t seed = 1;
  int64_t step = 3;
  bool print = false, reverse = false;
  std::string target = "cpu";
};
} // namespace

static int fail(llvm::Error error) {
  llvm::errs() << "ptl-native: error: " << llvm::toString(std::move(error)) << "\n";
  return 1;
}

/// Prints what differs; returns the number of results that do.
static int compare(const run::Tensors &expected, const run::Tensors &found, const Command &c) {
  int wrong = 0;
  for (const auto &[key, tensor] : expected) {
    auto other = found.find(key);
    if (other == found.end())
      continue;
    run::Difference difference = run::difference(tensor, other->second);
    bool good = difference.within(c.tolerance);
    if (!good || c.print)
      llvm::outs() << (good ? "same " : "differs ") << key << ": error "
                   << run::number(difference.error) << " of " << run::number(difference.scale)
                   << " at " << difference.at << "\n";
    wrong += !good;
  }
  llvm::outs() << expected.size() - wrong << " of " << expected.size() << " results agree\n";
  return wrong;
}

static int runFunction(mlir::ModuleOp module, mlir::func::FuncOp function, const Command &c) {
  auto signature = run::readSignature(function);
  if (failed(signature))
    return 1;
  run::InputOptions options;
  options.seed = c.seed;
  options.disturbed = true;
  run::Inputs inputs(options);
  run::Tensors values;
  if (llvm::Error error = inputs.load(module))
    return fail(std::move(error));
  if (llvm::Error error = inputs.fill(*signature, c.step, values))
    return fail(std::move(error));
  run::RunOptions runOptions;
  runOptions.seed = c.seed;
  auto expected = run::runGlobal(*signature, values, runOptions);
  if (failed(expected))
    return 1;
  int64_t step = values.count("step") ? int64_t(values["step"].scalar()) : c.step;

  std::string name = function.getName().str();
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  mlir::PassManager manager(module->getContext(), mlir::ModuleOp::getOperationName());
  if (failed(mlir::parsePassPipeline(c.passes, manager, llvm::errs())) ||
      failed(manager.run(*copy)))
    return 1;
  auto compiled = copy->lookupSymbol<mlir::func::FuncOp>(name);
  codegen::TargetOptions target;
  native::EmulatedKernels emulated;
  if (c.target == "cuda")
    target.rowKernels = [&](auto &&...kernel) { return emulated.emit(kernel...); };
  native::setReverseOrder(c.reverse);
  auto found = native::execute(compiled, *signature, values, c.seed, step, target);
  if (emulated.count > 0)
    llvm::outs() << emulated.count << " kernels are emulated\n";
  for (llvm::StringRef other : emulated.others.keys())
    llvm::outs() << "not emulated: " << other << "\n";
  return failed(found) || compare(expected->results, *found, c) != 0;
}

static int runFile(const Command &c) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, ptl::PtlDialect, spmd::SpmdDialect, rt::RtDialect>();
  cuda::registerDialects(registry);
  mlir::registerTransformsPasses();
  fuse::registerPtlcFusePasses();
  memory::registerPtlcMemoryPasses();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false);
  std::string message;
  auto file = mlir::openInputFile(c.file, &message);
  if (!file)
    return fail(run::makeError(message));
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  mlir::SourceMgrDiagnosticHandler handler(sources, &context);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
  if (!module)
    return 1;
  int status = 0;
  for (auto function : module->getOps<mlir::func::FuncOp>()) {
    llvm::StringRef name = function.getName();
    // Only functions that become stage functions can be called.
    if ((c.function.empty() || c.function == name) &&
        (name == "step" || name == "eval" || name == "logits"))
      status |= runFunction(*module, function, c);
  }
  return status;
}

int main(int argc, char **argv) {
  CLI::App app("ptl-native compares machine code with the reference interpreter on the functions "
               "of a module");
  Command command;
  app.add_option("module", command.file, "A module; its functions are called step, eval or logits")
      ->required();
  app.add_option("--function", command.function, "Only this function");
  app.add_option("--passes", command.passes, "Passes before code generation")
      ->capture_default_str();
  app.add_option("--tolerance", command.tolerance, "Of a result's largest element")
      ->capture_default_str();
  app.add_option("--seed", command.seed, "Of inputs and random numbers")->capture_default_str();
  app.add_option("--step", command.step, "Number of the step")->capture_default_str();
  app.add_option("--target", command.target, "cpu, or cuda: row kernels in an emulator")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  app.add_flag("--reverse-threads", command.reverse, "Emulate threads and blocks from the last on");
  app.add_flag("--print", command.print, "Print results that agree, too");
  CLI11_PARSE(app, argc, argv);
  return runFile(command);
}
