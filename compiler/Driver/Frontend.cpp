//===- Frontend.cpp - From a file to a checked program --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Driver/Frontend.h"

#include "compiler/Driver/Files.h"
#include "compiler/Schedule/Choose.h"
#include "lang/Format/Format.h"
#include "lang/Parse/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace ptlc;

std::optional<sema::Program> Frontend::analyze() {
  std::string reason;
  std::optional<lang::FileId> loaded = sources.load(options.input, reason);
  if (!loaded) {
    diagnostics.error({}, "can't read '" + options.input + "': " + reason);
    return std::nullopt;
  }
  file = *loaded;
  sema::AnalyzeOptions analyzeOptions;
  analyzeOptions.defines = options.defines;
  return sema::analyze(sources, file, analyzeOptions, diagnostics);
}

std::optional<sema::Program> Frontend::analyzeForSampling(const sema::Program &program) {
  if (!program.logits)
    return std::nullopt;
  sema::AnalyzeOptions analyzeOptions;
  for (const sema::Define &define : options.defines)
    if (define.name != "batch")
      analyzeOptions.defines.push_back(define);
  analyzeOptions.defines.push_back({"batch", "1"});
  // The same program was analyzed without an error; what a batch of one can't do is left out.
  size_t before = diagnostics.size();
  std::optional<sema::Program> sampling = sema::analyze(sources, file, analyzeOptions, diagnostics);
  diagnostics.truncate(before);
  return sampling && sampling->logits ? std::move(sampling) : std::nullopt;
}

std::optional<sema::PlanSpec> Frontend::choosePlan(const sema::Program &program) {
  std::optional<sema::PlanSpec> plan =
      sema::selectPlan(program, options.plan, options.mesh, diagnostics);
  if (!plan || !sema::refuseUnsupported(*plan, diagnostics) ||
      !sema::checkMicrobatches(program, *plan, diagnostics) || !readSchedule(*plan))
    return std::nullopt;
  return plan;
}

bool Frontend::readSchedule(sema::PlanSpec &plan) {
  if (!plan.pipeline || plan.pipeline->schedule != sema::PipeSchedule::File)
    return true;
  sema::PipelineRule &rule = *plan.pipeline;
  int64_t ranks = plan.mesh[rule.over.axes.front()].size;
  if (ranks == 1)
    return true;
  llvm::SmallString<128> path(llvm::sys::path::parent_path(sources.name(rule.range.file)));
  llvm::sys::path::append(path, rule.file);
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer) {
    diagnostics.error(rule.range,
                      "can't read '" + path.str().str() + "': " + buffer.getError().message());
    return false;
  }
  std::string error;
  std::optional<schedule::Orders> orders =
      schedule::ordersOfFile(rule.file, (*buffer)->getBuffer().str(), static_cast<int>(ranks),
                             static_cast<int>(plan.microbatches), error);
  if (!orders) {
    diagnostics.error(rule.range, error);
    return false;
  }
  rule.chunks = orders->chunks;
  return true;
}

bool Frontend::finish(llvm::raw_ostream &errors) {
  std::vector<lang::Diagnostic> all = diagnostics.sorted();
  if (options.verifyDiagnostics)
    return lang::verifyDiagnostics(errors, sources, all);
  lang::PrintOptions print;
  print.color = llvm::sys::Process::StandardErrHasColors();
  lang::print(errors, sources, all, print);
  return !diagnostics.hasErrors();
}

static bool checkOne(const CompileOptions &options) {
  Frontend frontend(options);
  std::optional<sema::Program> program = frontend.analyze();
  if (program && program->trains)
    for (const sema::PlanSpec &plan : program->plans)
      sema::checkMicrobatches(*program, plan, frontend.diagnostics);
  return frontend.finish(llvm::errs());
}

int ptlc::runCheck(const std::vector<std::string> &files, CompileOptions options) {
  bool good = true;
  for (const std::string &file : files) {
    options.input = file;
    good &= checkOne(options);
  }
  return good ? kSuccess : kFailure;
}

/// Formats one file; returns false after a message when it can't be read, parsed or written.
static bool formatOne(const std::string &path, bool inPlace, bool checkOnly) {
  lang::SourceManager sources;
  lang::DiagnosticEngine diagnostics(sources);
  std::string reason;
  std::optional<lang::FileId> file = sources.load(path, reason);
  if (!file) {
    llvm::errs() << "ptlc: error: can't read '" << path << "': " << reason << "\n";
    return false;
  }
  std::unique_ptr<ast::File> tree = parse::parseFile(sources, *file, diagnostics);
  if (diagnostics.hasErrors()) {
    lang::print(llvm::errs(), sources, diagnostics.sorted());
    return false;
  }
  std::string text = format::formatFile(*tree, sources);
  if (!inPlace && !checkOnly) {
    llvm::outs() << text;
    return true;
  }
  if (text == sources.text(*file))
    return true;
  if (checkOnly) {
    llvm::errs() << "ptlc: error: '" << path << "' is not formatted; run 'ptlc fmt -i " << path
                 << "'\n";
    return false;
  }
  return writeFile(path, text, /*executable=*/false, llvm::errs());
}

int ptlc::runFormat(const std::vector<std::string> &files, bool inPlace, bool checkOnly) {
  bool good = true;
  for (const std::string &file : files)
    good &= formatOne(file, inPlace, checkOnly);
  return good ? kSuccess : kFailure;
}
