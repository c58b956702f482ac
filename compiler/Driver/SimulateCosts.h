//===- SimulateCosts.h - Costs of a pipeline from files -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_SIMULATECOSTS_H
#define PTLC_COMPILER_DRIVER_SIMULATECOSTS_H

#include "compiler/Schedule/Simulate.h"
#include "llvm/ADT/StringRef.h"

#include <map>

namespace ptlc {

/// What a simulation needs to know about a pipeline besides its schedule.
struct PipelineCosts {
  schedule::Costs seconds;
  std::vector<schedule::Edge> edges;             ///< empty: a chain,
  uint64_t messageBytes = 1;                     ///< with messages of this size
  std::map<char, std::vector<double>> slotBytes; ///< by kind of slot; per stage, or one for all
  int copies = 1;
  bool clip = false;
  std::vector<int> tied;
  std::string source; ///< where `seconds` come from
};

/// What a trace says of the steps behind the first one (of the first, if there is no other): from
/// the first computation of a micro-batch to the end of the last one.
struct MeasuredSteps {
  double seconds = 0; ///< of a step
  double busy = 0;    ///< share of all ranks' time in which they compute
};

/// Reads the JSON of `path`; numbers are seconds and bytes, and per stage lists of them:
/// {"forward", "backward", "weight", "both", "loss", "update", "gather", "reduce", "tie", "norm",
///  "latency", "bandwidth", "shared_wire", "overlap": "channel" | "rank" | "off", "bytes",
///  "edges": [{"from", "to", "bytes", "gradient"}], "slots": {"S": bytes}, "copies", "clip",
///  "tied"}.
/// Fields that are left out stay as they are. Returns false with the reason in `error`.
bool readCosts(llvm::StringRef path, PipelineCosts &costs, std::string &error);

/// Reads the trace of a run of `table`: the median time of each instruction on each stage, from
/// events that are named like `F s0 m3`. What the trace lacks takes no time but for forward and
/// backward, which become NaN. Returns nullopt with the reason in `error`.
std::optional<MeasuredSteps> readTrace(llvm::StringRef path, const schedule::Table &table,
                                       PipelineCosts &costs, std::string &error);

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_SIMULATECOSTS_H
