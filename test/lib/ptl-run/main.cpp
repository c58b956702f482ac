//===- main.cpp - ptl-run, the reference interpreter ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Executes the program of any tensor-level stage with plain loops, on as many
// simulated ranks as its mesh has. It links the dialects only and shares no code
// with the passes that it judges.
//===----------------------------------------------------------------------===//
#include "dialects/Ptl/Ptl.h"
#include "dialects/Rt/Rt.h"
#include "dialects/Spmd/Spmd.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "test/lib/ptl-run/Compare.h"
#include "test/lib/ptl-run/Gradients.h"
#include "test/lib/ptl-run/Training.h"
#include "llvm/Support/SourceMgr.h"

#include <CLI/CLI.hpp>

using namespace ptlc::run;

namespace {
/// The command line.
struct Command {
  std::vector<std::string> files, data, hypers;
  std::string function, saveResults, saveGradients;
  int64_t seed = -1, steps = 0, directions = 20;
  double tolerance = 0;
  bool all = false, print = false, compare = false, checkGradients = false, sumF32 = false;
  InputOptions inputs;
  RunOptions options;
};
} // namespace

static void describe(CLI::App &app, Command &c) {
  app.add_option("modules", c.files, "One module; two to compare")->required();
  app.add_option("--function", c.function, "Function to run (default: step, loss or the only one)");
  app.add_flag("--all", c.all,
               "Run every function and print all results; compare all that both have");
  app.add_option("--weights", c.inputs.weights, "Weights by path (.safetensors)");
  app.add_option("--data", c.data, "field=file: .npy or a token file")->allow_extra_args(false);
  app.add_option("--hyper", c.hypers, "path=number, such as lr=0.1")->allow_extra_args(false);
  app.add_flag("--wrap", c.inputs.wrap, "Data begin again inside a batch");
  app.add_flag("--f64", c.options.f64, "Compute in double throughout");
  app.add_flag("--accumulate-f32", c.sumF32, "Round every addition of a sum to f32");
  app.add_option("--seed", c.seed, "Seed (default: the program's)");
  app.add_option("--steps", c.steps, "Train for so many steps, one line each");
  app.add_flag("--print", c.print, "Print all results, not only scalars");
  app.add_option("--save-results", c.saveResults, "Write the results of the last step");
  app.add_option("--save-grads", c.saveGradients, "Write the gradients of the first step");
  app.add_flag("--compare", c.compare, "Compare two modules on the same inputs");
  app.add_option("--tolerance", c.tolerance, "Relative; default 1e-5, with --f64 1e-9");
  app.add_flag("--check-gradients", c.checkGradients,
               "Compare the gradients of @step of the second module with slopes of @loss of the "
               "first");
  app.add_option("--directions", c.directions, "Slopes per weight")->capture_default_str();
}

static int fail(llvm::Error error) {
  llvm::errs() << "ptl-run: error: " << llvm::toString(std::move(error)) << "\n";
  return 1;
}

/// Splits "name=value".
static llvm::Expected<std::pair<std::string, std::string>> splitOption(llvm::StringRef text) {
  auto [name, value] = text.split('=');
  if (name.empty() || value.empty())
    return makeError("expected name=value, found '" + text + "'");
  return std::pair(name.str(), value.str());
}

static llvm::Error readPairs(Command &c) {
  for (const std::string &text : c.data) {
    auto option = splitOption(text);
    if (!option)
      return option.takeError();
    c.inputs.data.insert(*option);
  }
  for (const std::string &text : c.hypers) {
    auto option = splitOption(text);
    if (!option)
      return option.takeError();
    double value = 0;
    if (llvm::StringRef(option->second).getAsDouble(value))
      return makeError("expected a number, found '" + option->second + "'");
    c.inputs.hypers[option->first] = value;
  }
  return llvm::Error::success();
}

static uint64_t seedOf(mlir::ModuleOp module, const Command &c) {
  if (c.seed >= 0)
    return static_cast<uint64_t>(c.seed);
  auto train = module->getAttrOfType<mlir::DictionaryAttr>("ptl.train");
  auto value = train ? train.getAs<mlir::IntegerAttr>("seed") : mlir::IntegerAttr();
  return value ? static_cast<uint64_t>(value.getInt()) : 0;
}

/// Weights are saved under their paths alone.
static TensorMap byPath(const Tensors &results) {
  TensorMap map;
  for (const auto &[key, tensor] : results)
    map[llvm::StringRef(key).starts_with("weight ") ? key.substr(7) : key] = tensor;
  return map;
}

static int save(const GlobalOutcome &outcome, const Command &c) {
  if (!c.saveResults.empty())
    if (llvm::Error error = writeSafetensors(c.saveResults, byPath(outcome.results)))
      return fail(std::move(error));
  if (!c.saveGradients.empty())
    if (llvm::Error error = writeSafetensors(c.saveGradients, byPath(outcome.gradients)))
      return fail(std::move(error));
  return 0;
}

/// Every function that both modules have.
static int compareEach(mlir::ModuleOp first, mlir::ModuleOp second, Inputs &inputs,
                       const Command &c, double limit) {
  bool equal = true;
  int64_t count = 0;
  for (auto function : first.getOps<mlir::func::FuncOp>()) {
    auto other = second.lookupSymbol<mlir::func::FuncOp>(function.getName());
    if (!other)
      continue;
    ++count;
    llvm::outs() << "@" << function.getName() << " ";
    equal &= succeeded(compareModules(function, other, inputs, c.options, limit));
  }
  if (count == 0)
    return fail(makeError("the modules have no function in common"));
  return equal ? 0 : 1;
}

static int runPair(mlir::ModuleOp first, mlir::ModuleOp second, Inputs &inputs, const Command &c) {
  if (c.compare) {
    double limit = c.tolerance > 0 ? c.tolerance : c.options.f64 ? 1e-9 : 1e-5;
    if (c.all)
      return compareEach(first, second, inputs, c, limit);
    auto a = findFunction(first, c.function), b = findFunction(second, c.function);
    return failed(a) || failed(b) || failed(compareModules(*a, *b, inputs, c.options, limit));
  }
  auto loss = findFunction(first, "loss"), step = findFunction(second, "step");
  double limit = c.tolerance > 0 ? c.tolerance : 1e-6;
  return failed(loss) || failed(step) ||
         failed(checkGradients(*loss, *step, inputs, c.options, c.directions, limit));
}

static int runEach(mlir::ModuleOp module, Inputs &inputs, const Command &c) {
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    llvm::outs() << "@" << function.getName() << "\n";
    GlobalOutcome outcome;
    if (failed(runOnce(function, inputs, c.options, /*all=*/true, outcome)))
      return 1;
  }
  return 0;
}

static int runOne(mlir::ModuleOp module, Inputs &inputs, const Command &c) {
  if (c.all)
    return runEach(module, inputs, c);
  auto function = findFunction(module, c.function);
  if (failed(function))
    return 1;
  GlobalOutcome outcome;
  llvm::LogicalResult ran = c.steps > 0 ? runSteps(*function, inputs, c.options, c.steps, outcome)
                                        : runOnce(*function, inputs, c.options, c.print, outcome);
  return failed(ran) ? 1 : save(outcome, c);
}

static mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef path, mlir::MLIRContext &context,
                                               llvm::SourceMgr &sources) {
  std::string message;
  auto file = mlir::openInputFile(path, &message);
  if (!file) {
    llvm::errs() << "ptl-run: error: " << message << "\n";
    return {};
  }
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  return mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
}

static int run(Command &c) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, ptlc::ptl::PtlDialect, ptlc::spmd::SpmdDialect,
                  ptlc::rt::RtDialect>();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  // An operation that nobody knows gets a message of its own, with its name and place.
  context.allowUnregisteredDialects();
  context.loadAllAvailableDialects();
  size_t expected = c.compare || c.checkGradients ? 2 : 1;
  if (c.files.size() != expected)
    return fail(makeError("expected " + llvm::Twine(expected) + " modules, found " +
                          llvm::Twine(c.files.size())));
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules;
  llvm::SourceMgr sources[2];
  mlir::SourceMgrDiagnosticHandler handler(sources[0], &context);
  for (size_t i = 0; i < c.files.size(); ++i) {
    modules.push_back(parse(c.files[i], context, sources[i]));
    if (!modules.back())
      return 1;
  }
  context.printOpOnDiagnostic(false);
  c.options.seed = c.inputs.seed = seedOf(*modules[0], c);
  c.options.accumulate = c.sumF32 ? Accumulate::F32 : Accumulate::F64;
  c.inputs.disturbed = expected == 2;
  if (llvm::Error error = readPairs(c))
    return fail(std::move(error));
  Inputs inputs(c.inputs);
  if (llvm::Error error = inputs.load(*modules.back()))
    return fail(std::move(error));
  if (expected == 2)
    return runPair(*modules[0], *modules[1], inputs, c);
  return runOne(*modules[0], inputs, c);
}

int main(int argc, char **argv) {
  CLI::App app("ptl-run executes a module of any tensor-level stage, on simulated ranks");
  Command command;
  describe(app, command);
  CLI11_PARSE(app, argc, argv);
  return run(command);
}
