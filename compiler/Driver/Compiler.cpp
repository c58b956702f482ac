//===- Compiler.cpp - One compilation from file to file -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Front end, import, the table of passes, code generation, link. Each step
// stops the run at its first failure, after all of its messages.
//===----------------------------------------------------------------------===//
#include "compiler/Driver/Compiler.h"

#include "compiler/Codegen/Target.h"
#include "compiler/Driver/Explain.h"
#include "compiler/Driver/Files.h"
#include "compiler/Driver/FitMemory.h"
#include "compiler/Driver/Frontend.h"
#include "compiler/Driver/Link.h"
#include "compiler/Driver/MemoryReport.h"
#include "compiler/Driver/Messages.h"
#include "compiler/Driver/OneRank.h"
#include "compiler/Driver/PassDump.h"
#include "compiler/Driver/PlaceAxes.h"
#include "compiler/Driver/Promises.h"
#include "compiler/Driver/Report.h"
#include "compiler/Driver/Savings.h"
#include "compiler/Import/Import.h"
#include "compiler/Pipelines/Pipeline.h"
#include "compiler/Support/Stages.h"
#include "lang/Parse/Parser.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Timer.h"

using namespace ptlc;
using namespace mlir;
namespace json = llvm::json;

namespace {
/// One compilation: the state that its steps share.
class Compilation {
public:
  explicit Compilation(const CompileOptions &options)
      : options(options), frontend(options), registry(makeRegistry()), context(registry) {
    context.allowUnregisteredDialects(false);
    context.loadAllAvailableDialects();
  }

  int run();

private:
  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerEverything(registry);
    return registry;
  }
  std::string outputName(llvm::StringRef extension) const;
  int dumpAst();
  bool buildModule();
  bool runPasses();
  bool keepsPromises();
  Phase lastPhase() const;
  int emit();
  int explain();
  codegen::TargetOptions targetOptions() const;
  int emitObject();
  /// Whether nothing is written but what is asked for on standard output.
  bool onlyPrints() const {
    return !options.explain.empty() || (options.report && options.output.empty());
  }
  /// Whether the executable holds a program for one rank, too.
  bool comparesWithOneRank() const;
  int emitExecutable(llvm::StringRef object);

  const CompileOptions &options;
  Frontend frontend;
  DialectRegistry registry;
  MLIRContext context;
  std::optional<sema::Program> program, sampling; ///< the second one has a batch of one
  std::optional<sema::PlanSpec> plan;
  std::optional<Variants> variants;
  OwningOpRef<ModuleOp> module, asWritten; ///< the second one only to be dumped
  std::optional<Expressions> expressions;  ///< for --explain
  int64_t ranks = 1;                       ///< of the mesh
  std::optional<OneRank> oneRank;
  std::optional<AxisPlacement> placement;
};
} // namespace

std::string Compilation::outputName(llvm::StringRef extension) const {
  if (!options.output.empty())
    return options.output;
  if (extension == ".mlir" || extension == ".ll" || extension == ".ptx" || extension == ".ast")
    return "-";
  llvm::StringRef stem = options.input;
  stem.consume_back(".ptl");
  return (llvm::sys::path::filename(stem) + extension).str();
}

int Compilation::dumpAst() {
  std::string reason;
  std::optional<lang::FileId> file = frontend.sources.load(options.input, reason);
  if (!file) {
    llvm::errs() << "ptlc: error: can't read '" << options.input << "': " << reason << "\n";
    return kFailure;
  }
  auto tree = parse::parseFile(frontend.sources, *file, frontend.diagnostics);
  if (!frontend.finish(llvm::errs()))
    return kFailure;
  return writeFile(outputName(".ast"), ast::dump(*tree), false, llvm::errs()) ? kSuccess : kFailure;
}

bool Compilation::buildModule() {
  program = frontend.analyze();
  if (program && !program->trains) {
    lang::SourceRange start{frontend.file, frontend.sources.position(frontend.file, 0),
                            frontend.sources.position(frontend.file, 0)};
    frontend.diagnostics.error(start, "nothing to compile: the file has no 'train' block");
  }
  if (program && !frontend.diagnostics.hasErrors())
    plan = frontend.choosePlan(*program);
  if (plan && !frontend.diagnostics.hasErrors()) {
    sampling = frontend.analyzeForSampling(*program);
    auto import = [&](ImportStage stage) {
      return importProgram(context, *program, sampling ? &*sampling : nullptr, *plan,
                           frontend.sources, frontend.diagnostics, stage);
    };
    ranks = plan->ranks();
    warnOfWideAxes(*program, *plan, frontend.diagnostics);
    placement = AxisPlacement::of(*program, *plan);
    if (placement)
      placement->choose(frontend, *program, *plan);
    bool dumps = !options.dumpPasses.empty();
    if (dumps)
      asWritten = import(ImportStage::Model);
    if (!dumps || asWritten)
      module = import(options.emit == Phase::Model ? ImportStage::Model : ImportStage::Flat);
    variants.emplace(context, *program, sampling ? &*sampling : nullptr, frontend.sources);
    if (ArrayAttr remat = module ? fitMemory(*variants, *plan) : ArrayAttr())
      setRemat(*module, remat);
    if (!options.explain.empty())
      expressions.emplace(*program, frontend.sources);
  }
  return frontend.finish(llvm::errs()) && (options.verifyDiagnostics || module);
}

/// The stage up to which passes run.
Phase Compilation::lastPhase() const {
  if (!options.explain.empty())
    return options.explain == "*" ? Phase::Memory : Phase::Sharded;
  return std::min(options.emit, options.target == "cuda" ? Phase::Nvvm : Phase::Memory);
}

bool Compilation::runPasses() {
  std::optional<PassDump> dump;
  if (!options.dumpPasses.empty()) {
    dump.emplace(options.dumpPasses);
    if (!dump->begin(*asWritten, *module))
      return false;
  }
  auto prepare = [&](PassManager &manager) {
    if (options.timing)
      manager.enableTiming();
    if (dump)
      manager.addInstrumentation(dump->instrumentation());
  };
  return succeeded(runPipeline(*module, lastPhase(), prepare, llvm::errs())) &&
         !(dump && dump->failed());
}

int Compilation::explain() {
  if (options.explain == "*") {
    for (ModuleOp program : rankPrograms(*module)) {
      if (auto rank = program->getAttrOfType<IntegerAttr>(kPipeRank))
        llvm::outs() << llvm::formatv("rank {0} of the pipeline\n", rank.getInt());
      explainCollectives(program, *expressions, llvm::outs());
    }
    if (placement)
      placement->print(trafficOf(*module), llvm::outs());
  } else if (!explainName(*module, options.explain, llvm::outs(), llvm::errs()))
    return kFailure;
  return kSuccess;
}

codegen::TargetOptions Compilation::targetOptions() const {
  codegen::TargetOptions target;
  target.cpu = options.targetCpu;
  target.optimization = options.optimization;
  return target;
}

int Compilation::emitObject() {
  codegen::TargetOptions target = targetOptions();
  if (options.emit == Phase::LLVM || options.emit == Phase::Ptx) {
    std::string text;
    bool ok = succeeded(options.emit == Phase::LLVM
                            ? codegen::emitLLVM(*module, target, text)
                            : codegen::emitPtx(*module, options.targetArch, text));
    llvm::StringRef extension = options.emit == Phase::LLVM ? ".ll" : ".ptx";
    return ok && writeFile(outputName(extension), text, false, llvm::errs()) ? kSuccess : kFailure;
  }
  llvm::SmallVector<char, 0> object;
  if (failed(codegen::compileToObject(*module, target, object)))
    return kFailure;
  llvm::StringRef bytes(object.data(), object.size());
  if (options.emit == Phase::Obj)
    return writeFile(outputName(".o"), bytes, false, llvm::errs()) ? kSuccess : kFailure;
  return emitExecutable(bytes);
}

bool Compilation::comparesWithOneRank() const {
  return options.emit == Phase::Executable && !onlyPrints() && ranks > 1 && !options.noCheck &&
         !options.verifyDiagnostics;
}

int Compilation::emitExecutable(llvm::StringRef object) {
  llvm::SmallVector<llvm::StringRef> contents = {object}, files;
  if (oneRank) {
    if (!oneRank->finish(llvm::errs()))
      return kFailure;
    contents.push_back(oneRank->object());
  }
  llvm::SmallString<128> names[2];
  llvm::FileRemover removers[2];
  for (auto [bytes, name, remover] : llvm::zip(contents, names, removers)) {
    if (std::error_code code = llvm::sys::fs::createTemporaryFile("ptlc", "o", name)) {
      llvm::errs() << "ptlc: error: can't make a temporary file: " << code.message() << "\n";
      return kFailure;
    }
    remover.setFile(name);
    if (!writeFile(name, bytes, false, llvm::errs()))
      return kFailure;
    files.push_back(name);
  }
  return linkExecutable(files, outputName(""), options, llvm::errs()) ? kSuccess : kFailure;
}

/// Whether the plan's promises hold, if the program is planned that far.
bool Compilation::keepsPromises() {
  return lastPhase() < Phase::Memory || succeeded(checkPromises(*module, *variants, *plan));
}

int Compilation::emit() {
  int status = kSuccess;
  if (placement && lastPhase() >= Phase::Memory)
    placement->warn(trafficOf(*module), context, frontend.sources);
  if (!options.explain.empty())
    status = explain();
  if (options.report && options.explain.empty()) {
    json::Object links = placement && lastPhase() >= Phase::Memory
                             ? placement->describe(trafficOf(*module))
                             : json::Object();
    printReport(*module, savingsOf(*variants, *plan, *module), std::move(links), options.json,
                llvm::outs());
  }
  // After what shows why one is broken, before any output.
  if (!keepsPromises())
    return kFailure;
  if (!options.memorySvg.empty() && lastPhase() < Phase::Memory) {
    llvm::errs() << "ptlc: error: '--memory-svg' needs a stage from 'memory' on\n";
    return kFailure;
  }
  if (!options.memorySvg.empty() &&
      !writeFile(options.memorySvg, memorySvg(*module), false, llvm::errs()))
    return kFailure;
  if (onlyPrints())
    return status;
  if (options.emit > Phase::Nvvm)
    return emitObject();
  std::string text = printModule(*module, /*locations=*/options.emit >= Phase::Memory);
  return writeFile(outputName(".mlir"), text, false, llvm::errs()) ? kSuccess : kFailure;
}

int Compilation::run() {
  if (options.emit == Phase::Ast)
    return dumpAst();
  if (!buildModule())
    return kFailure;
  if (!module)
    return kSuccess; // --verify-diagnostics: the expected messages came
  if (comparesWithOneRank())
    oneRank.emplace(options, targetOptions(), registry);
  MessageHandler messages(context, frontend.sources, llvm::errs());
  if (failed(verify(*module)) || !runPasses())
    return kFailure;
  if (options.verifyDiagnostics)
    return keepsPromises() ? kSuccess : kFailure;
  return emit();
}

int ptlc::runCompile(const CompileOptions &options) { return Compilation(options).run(); }
