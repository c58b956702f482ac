//===- Frontend.h - From a file to a checked program ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_FRONTEND_H
#define PTLC_COMPILER_DRIVER_FRONTEND_H

#include "compiler/Driver/Options.h"

namespace ptlc {

/// The sources of a run and what there is to say about them. Lives as long as anything made of it.
class Frontend {
public:
  explicit Frontend(const CompileOptions &options) : options(options), diagnostics(sources) {}

  /// Reads and analyzes the input. Returns nullopt with diagnostics on failure.
  std::optional<sema::Program> analyze();

  /// Analyzes again with one sample per batch, for `./model sample`; nullopt if the model has no
  /// `logits`.
  std::optional<sema::Program> analyzeForSampling(const sema::Program &program);

  /// Chooses the plan, and checks that this compiler can carry it out.
  std::optional<sema::PlanSpec> choosePlan(const sema::Program &program);

  /// Prints all diagnostics, or with --verify-diagnostics compares them. Returns whether the run
  /// may go on (no error), respectively whether all were expected.
  bool finish(llvm::raw_ostream &errors);

  /// Reads and checks the file of `schedule: file("x.csv")`, beside the program, which must be for
  /// the plan's sizes. Returns false after a message.
  bool readSchedule(sema::PlanSpec &plan);

  const CompileOptions &options;
  lang::SourceManager sources;
  lang::DiagnosticEngine diagnostics;
  lang::FileId file;
};

/// Runs `ptlc check`: analyzes each file and all its plans, with the definitions of `options`.
int runCheck(const std::vector<std::string> &files, CompileOptions options);

/// Runs `ptlc fmt`: prints the file, or with `inPlace` rewrites it (only if it parses), or with
/// `checkOnly` fails when it isn't formatted.
int runFormat(const std::vector<std::string> &files, bool inPlace, bool checkOnly);

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_FRONTEND_H
