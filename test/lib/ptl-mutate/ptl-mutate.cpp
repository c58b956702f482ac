//===- ptl-mutate.cpp - Is the sharding verifier able to see mistakes? ----===//
// SPDX-License-Identifier: Apache-2.0
//
// Cuts each .ptl file as its plan says, makes mistakes in what came of it, one at
// a time, and compares two verdicts: that of the sharding verifier, and that of the
// reference interpreter, which runs the mutant on numbers made from the seed and
// compares it with one rank. The verifier must refuse each mutant that computes
// something else, and must not refuse the program itself.
//
// Prints a line per kind of mistake, "KIND: N made, ...", then one per finding, and
// fails if there is any.
//===----------------------------------------------------------------------===//
#include "compiler/Driver/Frontend.h"
#include "compiler/Import/Import.h"
#include "compiler/Pipelines/Pipeline.h"
#include "mlir/IR/Verifier.h"
#include "test/lib/ptl-mutate/Mutations.h"
#include "test/lib/ptl-mutate/Trial.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

#include <CLI/CLI.hpp>

using namespace ptlc;
using namespace ptlc::mutate;

namespace {
/// The command line.
struct Command {
  std::vector<std::string> files;
  std::string plan = "p", kind;
  uint64_t seed = 1;
  int64_t mutants = 10;
  bool print = false;
};

/// What came of the mutants of one kind.
struct Count {
  int64_t made = 0;
  int64_t malformed = 0; ///< types don't fit, so it doesn't run
  int64_t wrong = 0;     ///< malformed, or computes something else
  int64_t seen = 0;      ///< of these, refused
  int64_t refused = 0;   ///< though nothing differs
};

class Session {
public:
  explicit Session(const Command &command) : command(command) {
    for (auto list : {moveMutations(), localMutations()})
      for (const Mutation &mutation : list)
        if (command.kind.empty() || command.kind == mutation.kind) {
          mutations.push_back(&mutation);
          counts[mutation.kind.str()]; // so that kinds that are never made are printed, too
        }
  }

  void tryFile(const std::string &file);
  bool report() const;

private:
  void tryMutants(Trial &trial, const std::string &file);
  void judge(Trial &trial, mlir::ModuleOp mutant, const Mutation &mutation,
             const std::string &name);

  const Command &command;
  std::vector<const Mutation *> mutations;
  std::map<std::string, Count> counts;
  int64_t programs = 0, refusedPrograms = 0;
  std::vector<std::string> findings;
};
} // namespace

/// Makes one mistake somewhere in the module; false if it can't be made anywhere.
static bool mutateOnce(mlir::ModuleOp module, const Mutation &mutation, Random &random) {
  llvm::SmallVector<mlir::Operation *> operations;
  for (auto function : module.getOps<mlir::func::FuncOp>())
    function.walk([&](mlir::Operation *op) {
      if (op != function)
        operations.push_back(op);
    });
  random.shuffle(operations);
  spmd::MeshOp mesh = spmd::findMesh(module);
  return mesh && llvm::any_of(operations, [&](mlir::Operation *op) {
           return mutation.apply(op, mesh, random);
         });
}

static bool isWellFormed(mlir::ModuleOp module) {
  mlir::ScopedDiagnosticHandler handler(module.getContext(),
                                        [](mlir::Diagnostic &) { return mlir::success(); });
  return succeeded(mlir::verify(module));
}

void Session::judge(Trial &trial, mlir::ModuleOp mutant, const Mutation &mutation,
                    const std::string &name) {
  Count &count = counts[mutation.kind.str()];
  ++count.made;
  if (command.print)
    mutant.print(llvm::outs());
  bool isMalformed = !isWellFormed(mutant), isSeen = trial.isSeen(mutant);
  std::string message = trial.problem;
  bool isWrong = isMalformed || trial.isWrong(mutant);
  if (isMalformed)
    trial.problem = "its types don't fit";
  if (command.print)
    llvm::outs() << "verifier: " << message << "\ninterpreter: " << trial.problem << "\n";
  count.malformed += isMalformed;
  count.wrong += isWrong;
  count.seen += isWrong && isSeen;
  count.refused += isSeen && !isWrong;
  if (isWrong && !isSeen)
    findings.push_back(name + " (" + mutation.kind.str() + "): not seen, but " + trial.problem);
}

void Session::tryMutants(Trial &trial, const std::string &file) {
  for (int64_t i = 0, tries = 0; i < command.mutants && tries < 20 * command.mutants; ++tries) {
    // By name, so that a mutant is the same alone and among others.
    std::string name = llvm::sys::path::filename(file).str() + "#" + std::to_string(tries);
    Random random(command.seed + llvm::xxh3_64bits(name));
    const Mutation &mutation = *random.pick(mutations);
    mlir::OwningOpRef<mlir::ModuleOp> mutant = trial.getLocal().clone();
    if (!mutateOnce(*mutant, mutation, random))
      continue;
    ++i;
    judge(trial, *mutant, mutation, file + ", mutant " + std::to_string(tries));
  }
}

void Session::tryFile(const std::string &file) {
  CompileOptions options;
  options.input = file;
  options.plan = command.plan;
  Frontend frontend(options);
  mlir::DialectRegistry registry;
  registerEverything(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false);
  std::optional<sema::Program> program = frontend.analyze();
  std::optional<sema::PlanSpec> plan;
  if (program && !frontend.diagnostics.hasErrors())
    plan = frontend.choosePlan(*program);
  mlir::OwningOpRef<mlir::ModuleOp> module;
  if (plan && !frontend.diagnostics.hasErrors())
    module =
        importProgram(context, *program, nullptr, *plan, frontend.sources, frontend.diagnostics);
  mlir::PassManager manager(&context, mlir::ModuleOp::getOperationName());
  ++programs;
  mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) { return mlir::success(); });
  if (!module || failed(buildPipeline(manager, Phase::Sharded, llvm::errs())) ||
      failed(manager.run(*module))) {
    ++refusedPrograms;
    return;
  }
  Trial trial(*module, command.seed);
  if (!trial.partition())
    ++refusedPrograms;
  else if (!trial.runReference())
    findings.push_back(file + ": " + trial.problem);
  else if (trial.isSeen(trial.getLocal()))
    findings.push_back(file + ": a right program is refused: " + trial.problem);
  else if (trial.isWrong(trial.getLocal()))
    findings.push_back(file + ": a program that passes is wrong: " + trial.problem);
  else
    tryMutants(trial, file);
}

bool Session::report() const {
  for (const auto &[kind, count] : counts)
    llvm::outs() << kind << ": " << count.made << " made, " << count.malformed << " malformed, "
                 << count.wrong << " wrong, " << count.seen << " seen, " << count.refused
                 << " refused though right\n";
  llvm::outs() << "programs: " << programs << " tried, " << refusedPrograms << " refused\n";
  for (const std::string &finding : findings)
    llvm::outs() << "finding: " << finding << "\n";
  return findings.empty();
}

int main(int argc, char **argv) {
  CLI::App app("ptl-mutate makes mistakes in partitioned programs; the verifier should see them");
  Command command;
  app.add_option("files", command.files, ".ptl files")->required();
  app.add_option("--plan", command.plan, "The plan's name in each")->capture_default_str();
  app.add_option("--mutants", command.mutants, "Of each file")->capture_default_str();
  app.add_option("--seed", command.seed, "Of mistakes and numbers")->capture_default_str();
  app.add_option("--kind", command.kind, "Only mistakes of this kind");
  app.add_flag("--print", command.print, "Print mutants and verdicts");
  CLI11_PARSE(app, argc, argv);
  Session session(command);
  for (const std::string &file : command.files)
    session.tryFile(file);
  return session.report() ? 0 : 1;
}
