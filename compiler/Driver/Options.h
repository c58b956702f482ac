//===- Options.h - What a compilation is asked to do ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_OPTIONS_H
#define PTLC_COMPILER_DRIVER_OPTIONS_H

#include "compiler/Pipelines/Phases.h"
#include "lang/Sema/Sema.h"

namespace ptlc {

/// One compilation. Defaults are those of `ptlc model.ptl`.
struct CompileOptions {
  std::string input;
  std::string output;                   ///< empty: the input's name without `.ptl`
  std::string plan;                     ///< empty: one device, or `mesh`
  std::vector<sema::MeshOverride> mesh; ///< --mesh dp=4,tp=2
  std::vector<sema::Define> defines;    ///< -D layers=24
  Phase emit = Phase::Executable;       ///< --emit=
  std::string dumpPasses;               ///< folder for the IR after every pass
  bool report = false;                  ///< print the report on standard output
  std::string explain;                  ///< "*": collectives; else a weight or value
  bool json = false;                    ///< the report as JSON
  std::string memorySvg;                ///< file for a picture of memory over the step
  bool verifyDiagnostics = false;       ///< compare messages with the file's comments
  bool timing = false;                  ///< print how long each stage took
  unsigned optimization = 3;            ///< -O
  std::string targetCpu;                ///< empty: this machine
  std::string target = "cpu";           ///< "cpu" or "cuda"
  std::string targetArch = "sm_80";     ///< of cuda
  std::string linker;                   ///< empty: searched
  bool noCheck = false;                 ///< leave out the program for one rank
};

/// Exit statuses of the tools.
enum ExitCode : int { kSuccess = 0, kFailure = 1, kUsage = 2 };

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_OPTIONS_H
