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
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "test/lib/ptl-run/Compare.h"
#include "test/lib/ptl-run/Gradients.h"
#include "test/lib/ptl-run/Training.h"

using namespace ptlc::run;
namespace cl = llvm::cl;

static cl::list<std::string> files(cl::Positional, cl::OneOrMore, cl::desc("<module.mlir>..."));
static cl::opt<std::string> functionName("function", cl::desc("Function to run (step, loss)"));
static cl::opt<bool> runAll("all", cl::desc("Run every function, print all results"));
static cl::opt<std::string> weights("weights", cl::desc("Weights (.safetensors)"));
static cl::list<std::string> dataFiles("data", cl::desc("field=file: .npy or a token file"));
static cl::list<std::string> hypers("hyper", cl::desc("path=number, e.g. lr=0.1"));
static cl::opt<bool> f64("f64", cl::desc("Compute in double throughout"));
static cl::opt<bool> sumF32("accumulate-f32", cl::desc("Round each addition of sums to f32"));
static cl::opt<int64_t> seed("seed", cl::desc("Seed (default: the program's)"), cl::init(-1));
static cl::opt<int64_t> steps("steps", cl::desc("Training steps to simulate"), cl::init(0));
static cl::opt<bool> print("print", cl::desc("Print all results, not only scalars"));
static cl::opt<bool> wrap("wrap", cl::desc("Data begins again inside a batch"));
static cl::opt<std::string> saveResults("save-results", cl::desc("Write results (.safetensors)"));
static cl::opt<std::string> saveGrads("save-grads", cl::desc("Write gradients of the first step"));
static cl::opt<bool> compare("compare", cl::desc("Compare two modules on the same inputs"));
static cl::opt<double> tolerance("tolerance", cl::desc("Of comparisons, relative"), cl::init(0));
static cl::opt<bool> checkGrads("check-gradients",
                                cl::desc("Check @step of the second module by @loss of the first"));
static cl::opt<int64_t> directions("directions", cl::desc("Per weight"), cl::init(20));

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

static llvm::Expected<InputOptions> inputOptions(uint64_t usedSeed) {
  InputOptions options;
  options.seed = usedSeed;
  options.weights = weights;
  options.wrap = wrap;
  options.disturbed = compare || checkGrads;
  for (const std::string &text : dataFiles) {
    auto option = splitOption(text);
    if (!option)
      return option.takeError();
    options.data.insert(*option);
  }
  for (const std::string &text : hypers) {
    auto option = splitOption(text);
    if (!option)
      return option.takeError();
    double value = 0;
    if (llvm::StringRef(option->second).getAsDouble(value))
      return makeError("expected a number, found '" + option->second + "'");
    options.hypers[option->first] = value;
  }
  return options;
}

static uint64_t seedOf(mlir::ModuleOp module) {
  if (seed >= 0)
    return static_cast<uint64_t>(seed);
  auto train = module->getAttrOfType<mlir::DictionaryAttr>("ptl.train");
  auto value = train ? train.getAs<mlir::IntegerAttr>("seed") : mlir::IntegerAttr();
  return value ? static_cast<uint64_t>(value.getInt()) : 0;
}

/// The last word of a key: results are saved under the paths of weights.
static TensorMap byPath(const Tensors &results) {
  TensorMap map;
  for (const auto &[key, tensor] : results)
    map[llvm::StringRef(key).starts_with("weight ") ? key.substr(7) : key] = tensor;
  return map;
}

static int save(const GlobalOutcome &outcome) {
  if (!saveResults.empty())
    if (llvm::Error error = writeSafetensors(saveResults, byPath(outcome.results)))
      return fail(std::move(error));
  if (!saveGrads.empty())
    if (llvm::Error error = writeSafetensors(saveGrads, byPath(outcome.gradients)))
      return fail(std::move(error));
  return 0;
}

static int runPair(mlir::ModuleOp first, mlir::ModuleOp second, Inputs &inputs,
                   const RunOptions &options) {
  if (compare) {
    auto a = findFunction(first, functionName), b = findFunction(second, functionName);
    double limit = tolerance > 0 ? tolerance : f64 ? 1e-9 : 1e-5;
    return failed(a) || failed(b) || failed(compareModules(*a, *b, inputs, options, limit));
  }
  auto loss = findFunction(first, "loss"), step = findFunction(second, "step");
  double limit = tolerance > 0 ? tolerance : 1e-6;
  return failed(loss) || failed(step) ||
         failed(checkGradients(*loss, *step, inputs, options, directions, limit));
}

static int runEach(mlir::ModuleOp module, Inputs &inputs, const RunOptions &options) {
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    llvm::outs() << "@" << function.getName() << "\n";
    GlobalOutcome outcome;
    if (failed(runOnce(function, inputs, options, /*all=*/true, outcome)))
      return 1;
  }
  return 0;
}

static int runOne(mlir::ModuleOp module, Inputs &inputs, const RunOptions &options) {
  if (runAll)
    return runEach(module, inputs, options);
  auto function = findFunction(module, functionName);
  if (failed(function))
    return 1;
  GlobalOutcome outcome;
  llvm::LogicalResult ran = steps > 0 ? runSteps(*function, inputs, options, steps, outcome)
                                      : runOnce(*function, inputs, options, print, outcome);
  return failed(ran) ? 1 : save(outcome);
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

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "reference interpreter of ptlc's tensor stages\n");
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, ptlc::ptl::PtlDialect, ptlc::spmd::SpmdDialect,
                  ptlc::rt::RtDialect>();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  // An operation that nobody knows gets a message of its own, with its name and place.
  context.allowUnregisteredDialects();
  context.loadAllAvailableDialects();
  size_t expected = compare || checkGrads ? 2 : 1;
  if (files.size() != expected)
    return fail(makeError("expected " + llvm::Twine(expected) + " modules, found " +
                          llvm::Twine(files.size())));
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules;
  llvm::SourceMgr sources[2];
  mlir::SourceMgrDiagnosticHandler handler(sources[0], &context);
  for (size_t i = 0; i < files.size(); ++i) {
    modules.push_back(parse(files[i], context, sources[i]));
    if (!modules.back())
      return 1;
  }
  RunOptions options{f64, sumF32 ? Accumulate::F32 : Accumulate::F64, seedOf(*modules[0])};
  auto chosen = inputOptions(options.seed);
  if (!chosen)
    return fail(chosen.takeError());
  Inputs inputs(*chosen);
  if (llvm::Error error = inputs.load(*modules.back()))
    return fail(std::move(error));
  if (modules.size() == 2)
    return runPair(*modules[0], *modules[1], inputs, options);
  return runOne(*modules[0], inputs, options);
}
