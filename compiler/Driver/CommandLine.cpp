//===- CommandLine.cpp - The ptlc command ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Driver/CommandLine.h"

#include "compiler/Codegen/CUDA/Architectures.h"
#include "compiler/Driver/Compiler.h"
#include "compiler/Driver/Estimate.h"
#include "compiler/Driver/Frontend.h"
#include "compiler/Driver/Simulate.h"
#include "compiler/Driver/PlanSearch.h"
#include "compiler/Pipelines/Pipeline.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <CLI/CLI.hpp>

using namespace ptlc;

namespace {
/// The texts of options before they are checked.
struct Texts {
  std::vector<std::string> mesh, defines;
  std::string emit = "exe";
  bool helpPipeline = false;
};
} // namespace

static std::string emitHelp() {
  std::string text = "Stop at a stage and print it:";
  for (const PhaseInfo &info : allPhases())
    text +=
        "\n    " + info.name.str() + std::string(12 - info.name.size(), ' ') + info.summary.str();
  return text;
}

static bool usage(const std::string &message) {
  llvm::errs() << "ptlc: error: " << message << "\n";
  return false;
}

/// Reads `dp=4,tp=2`.
static bool parseMesh(const std::vector<std::string> &texts, CompileOptions &options) {
  for (const std::string &text : texts) {
    llvm::SmallVector<llvm::StringRef> entries;
    llvm::StringRef(text).split(entries, ',');
    for (llvm::StringRef entry : entries) {
      auto [axis, size] = entry.split('=');
      sema::MeshOverride mesh{axis.trim().str(), 0};
      if (axis.trim().empty() || size.trim().getAsInteger(10, mesh.size) || mesh.size < 1)
        return usage("--mesh takes axis=size with a size of at least 1, such as dp=4; got '" +
                     entry.str() + "'");
      options.mesh.push_back(mesh);
    }
  }
  return true;
}

static bool parseTexts(const Texts &texts, CompileOptions &options) {
  if (!parseMesh(texts.mesh, options))
    return false;
  for (const std::string &text : texts.defines) {
    std::optional<sema::Define> define = sema::parseDefine(text);
    if (!define)
      return usage("-D takes name=value, such as layers=24; got '" + text + "'");
    options.defines.push_back(*define);
  }
  std::optional<Phase> phase = parsePhase(texts.emit);
  if (!phase) {
    std::vector<llvm::StringRef> names;
    for (const PhaseInfo &info : allPhases())
      names.push_back(info.name);
    return usage("there is no stage '" + texts.emit + "'" + lang::didYouMean(texts.emit, names) +
                 "; the stages are " + llvm::join(names, ", "));
  }
  options.emit = *phase;
  if (options.target != "cpu" && options.target != "cuda")
    return usage("there is no target '" + options.target + "'; the targets are cpu, cuda");
  llvm::SmallVector<llvm::StringRef> architectures = cuda::architectures();
  if (!llvm::is_contained(architectures, options.targetArch))
    return usage("there is no architecture '" + options.targetArch + "'" +
                 lang::didYouMean(options.targetArch, architectures) + "; the architectures are " +
                 llvm::join(architectures, ", "));
  bool isKernels =
      options.emit == Phase::Gpu || options.emit == Phase::Nvvm || options.emit == Phase::Ptx;
  if (isKernels && options.target == "cpu")
    return usage("--emit=" + texts.emit + " is a stage of GPU code; add --target=cuda");
  if (options.emit > Phase::Memory && !isKernels && options.target == "cuda")
    return usage("programs for GPUs aren't supported yet; --emit=ptx prints their row kernels");
  return true;
}

static void addPlanOptions(CLI::App &app, CompileOptions &options, Texts &texts) {
  app.add_option("--plan", options.plan, "Compile for this plan of the file (default: one device)");
  app.add_option("--mesh", texts.mesh,
                 "Sizes of the mesh, such as dp=4: without --plan, 4 copies that share each batch")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("-D,--define", texts.defines,
                 "Replace a dim or const of the file, or train's batch or steps: -D layers=24")
      ->take_all()
      ->allow_extra_args(false);
}

static void addProgramOptions(CLI::App &app, CompileOptions &options, Texts &texts) {
  addPlanOptions(app, options, texts);
  app.add_option("-O", options.optimization, "Level of optimization of kernels, 0 to 3")
      ->check(CLI::Range(0, 3))
      ->capture_default_str();
  app.add_option("--target-cpu", options.targetCpu,
                 "CPU to compile for, such as x86-64-v3 (default: this machine's)");
  app.add_option("--linker", options.linker, "C++ compiler to link with");
  app.add_flag("--no-check", options.noCheck,
               "Leave out the program for one rank that './model --check' compares with");
}

static void addCompileOptions(CLI::App &app, CompileOptions &options, Texts &texts) {
  app.add_option("file", options.input, "The .ptl file");
  app.add_option("-o,--output", options.output, "Where to write ('-': standard output)");
  addProgramOptions(app, options, texts);
  app.add_option("--emit", texts.emit, emitHelp());
  app.add_option("--dump-passes", options.dumpPasses,
                 "Write the IR after every pass that changed it into this folder");
  app.add_flag("--report", options.report,
               "Print memory, FLOPs and communication per rank and step; without -o only that");
  app.add_flag("--explain{*}", options.explain,
               "Only print each collective with its reason; --explain=NAME: why a weight, field or "
               "named value is cut as it is");
  app.add_flag("--json", options.json, "Print the report as JSON");
  app.add_option("--memory-svg", options.memorySvg,
                 "Draw a rank's memory over the operations of a step into this file");
  app.add_option("--target", options.target, "cpu or cuda (row kernels only, with --emit=ptx)")
      ->capture_default_str();
  app.add_option("--target-arch", options.targetArch,
                 "GPU to compile for with --target=cuda: " +
                     llvm::join(cuda::architectures(), ", "))
      ->capture_default_str();
  app.add_flag("--timing", options.timing, "Print how long each pass took");
  app.add_flag("--verify-diagnostics", options.verifyDiagnostics,
               "Compare the messages with the file's 'expected-error' comments");
  app.add_flag("--help-pipeline", texts.helpPipeline, "Print the passes, with their reasons");
}

static CLI::App *addCheck(CLI::App &app, CompileOptions &options, std::vector<std::string> &files,
                          Texts &texts) {
  CLI::App *command = app.add_subcommand("check", "Check files and all of their plans");
  command->add_option("files", files, "The .ptl files")->required();
  command->add_option("-D,--define", texts.defines, "Replace a dim or const")
      ->take_all()
      ->allow_extra_args(false);
  command->add_flag("--verify-diagnostics", options.verifyDiagnostics,
                    "Compare the messages with the file's 'expected-error' comments");
  return command;
}

static CLI::App *addFormat(CLI::App &app, std::vector<std::string> &files, bool &inPlace,
                           bool &checkOnly) {
  CLI::App *command = app.add_subcommand("fmt", "Print a file in the one canonical style");
  command->add_option("files", files, "The .ptl files")->required();
  command->add_flag("-i", inPlace, "Rewrite the files");
  command->add_flag("--check", checkOnly, "Only say whether they are formatted");
  return command;
}

static CLI::App *addEstimate(CLI::App &app, CompileOptions &options, EstimateOptions &estimate,
                             Texts &texts) {
  CLI::App *command = app.add_subcommand(
      "estimate", "Print memory and time of a step under a plan, for a mesh of any size, "
                  "without making a program");
  command->add_option("file", options.input, "The .ptl file")->required();
  addPlanOptions(*command, options, texts);
  command->add_option("--bytes-per-parameter", estimate.bytesPerParameter,
                      "16, 18 or 20, or bytes of weight, gradient and optimizer: 2,4,12");
  command->add_option("--zero", estimate.zero, "Instead of the plan's: a level, or 3:dp");
  command->add_option("--remat", estimate.remat,
                      "Instead of the plan's: none, attention, selective or full");
  command->add_option("--precision", estimate.precision, "Instead of the plan's: f32 or bf16");
  command->add_option(
      "--cluster", estimate.cluster,
      "Predict the time of a step on this cluster of the file (default: the plan's)");
  command
      ->add_option("--like", estimate.like,
                   "ptlc or megatron: how kernels are fused, and what runs beside what")
      ->capture_default_str();
  command->add_flag("--values", estimate.values, "List what is kept for the backward");
  command->add_flag("--json", options.json, "Print JSON");
  return command;
}

static CLI::App *addSimulate(CLI::App &app, CompileOptions &options, SimulateOptions &simulate,
                             Texts &texts) {
  CLI::App *command =
      app.add_subcommand("simulate", "Play the step of a pipeline with given or measured times");
  command->add_option("file", options.input, "A .ptl file, whose plan says schedule and sizes");
  addPlanOptions(*command, options, texts);
  command->add_option("--schedule", simulate.schedule,
                      "gpipe, one_f_one_b, interleaved(2), zb_h1, zb_v, file(\"x.csv\") ...");
  command->add_option("--ranks", simulate.ranks, "Ranks of the pipeline")
      ->check(CLI::Range(1, 32767));
  command->add_option("--microbatches", simulate.micros, "Micro-batches of a step")
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--costs", simulate.costs,
                      "File with times, links and sizes as JSON (default: 1 s for F, B and W of a "
                      "rank); see compiler/doc/Schedules.md");
  command->add_option("--measured", simulate.measured, "Trace of a run, './model --trace FILE'");
  command->add_option("--svg", simulate.svg, "Draw the timeline into this file");
  command->add_option("--perfetto", simulate.perfetto, "The same for ui.perfetto.dev");
  command->add_option("--table", simulate.table, "Write all instructions as CSV");
  command->add_flag("--json", options.json, "Print JSON");
  return command;
}

static CLI::App *addPlan(CLI::App &app, CompileOptions &options, PlanOptions &plan, Texts &texts) {
  CLI::App *command =
      app.add_subcommand("plan", "Search for the fastest plan on a cluster, and write it as .ptl");
  command->add_option("file", options.input, "The .ptl file")->required();
  command->add_option("--cluster", plan.cluster, "A cluster of the file")->required();
  command->add_option("--devices", plan.devices, "Use so many (default: all of the cluster)");
  command->add_option("--precision", plan.precision,
                      "f32 or bf16 (default: bf16 if all plans of the file for the cluster have "
                      "'precision bf16', else f32)");
  command->add_option("--show", plan.shown, "How many plans to print")->capture_default_str();
  command->add_option("-D,--define", texts.defines, "Replace a dim or const, or train's batch")
      ->take_all()
      ->allow_extra_args(false);
  command->add_option("-o,--output", options.output, "Write the chosen plan's block here, too");
  command->add_flag("--json", options.json, "Print JSON");
  return command;
}

/// Prints what CLI11 has to say: help on standard output, errors in our own manner.
static int explain(CLI::App &app, const CLI::ParseError &error) {
  if (error.get_exit_code() == 0)
    return app.exit(error);
  llvm::errs() << "ptlc: error: " << error.what() << "; see 'ptlc --help'\n";
  return kUsage;
}

int ptlc::runCommandLine(int argc, const char *const *argv) {
  CLI::App app("ptlc compiles a neural network with sharding directives into one program that "
               "trains it in parallel.\n\n"
               "  ptlc model.ptl -o model --mesh dp=2 && ./model\n",
               "ptlc");
  app.set_version_flag("--version", "ptlc " PTLC_VERSION);
  app.footer("\nDirectives, stages and messages: lang/doc/LanguageReference.md");
  CompileOptions options;
  Texts texts;
  addCompileOptions(app, options, texts);

  std::vector<std::string> files;
  CLI::App *check = addCheck(app, options, files, texts);
  bool inPlace = false, checkOnly = false;
  CLI::App *format = addFormat(app, files, inPlace, checkOnly);

  CLI::App *run = app.add_subcommand("run", "Compile into a cache and run: ptlc run model.ptl "
                                            "[options] -- [arguments of the program]");
  std::vector<std::string> arguments;
  run->add_option("file", options.input, "The .ptl file")->required();
  run->add_option("arguments", arguments, "Arguments of the program, after '--'");
  addProgramOptions(*run, options, texts);
  EstimateOptions estimate;
  CLI::App *estimateCommand = addEstimate(app, options, estimate, texts);
  SimulateOptions simulate;
  CLI::App *simulateCommand = addSimulate(app, options, simulate, texts);
  PlanOptions plan;
  CLI::App *planCommand = addPlan(app, options, plan, texts);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return explain(app, error);
  }
  if (texts.helpPipeline) {
    printPipeline(llvm::outs());
    return kSuccess;
  }
  if (format->parsed())
    return runFormat(files, inPlace, checkOnly);
  if (options.input.empty() && !check->parsed() && !simulateCommand->parsed()) {
    usage("no input file; see 'ptlc --help'");
    return kUsage;
  }
  if (!parseTexts(texts, options))
    return kUsage;
  if (check->parsed())
    return runCheck(files, options);
  if (estimateCommand->parsed())
    return runEstimate(options, estimate);
  if (simulateCommand->parsed())
    return runSimulate(options, simulate);
  if (planCommand->parsed())
    return runPlan(options, plan);
  return run->parsed() ? runProgram(options, arguments) : runCompile(options);
}
