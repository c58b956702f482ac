//===- Simulate.h - ptlc simulate: what a pipeline's step would take ------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_SIMULATE_H
#define PTLC_COMPILER_DRIVER_SIMULATE_H

#include "compiler/Driver/Options.h"

namespace ptlc {

/// What `ptlc simulate` is asked. Zeros and empty texts: as the plan says.
struct SimulateOptions {
  std::string schedule; ///< as in plans: "interleaved(2)", "file(\"x.csv\")"
  int ranks = 0;
  int micros = 0;
  std::string costs;                ///< file: seconds and bytes as JSON
  std::string measured;             ///< file: trace of a run
  std::string svg, perfetto, table; ///< files to write
};

/// Runs `ptlc simulate`: makes and verifies the table of a pipeline, plays it with costs, prints
/// time, idle shares and memory per rank, and draws the timeline. Returns an exit status.
int runSimulate(const CompileOptions &options, const SimulateOptions &simulate);

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_SIMULATE_H
