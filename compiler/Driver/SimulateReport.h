//===- SimulateReport.h - What a simulation found -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_SIMULATEREPORT_H
#define PTLC_COMPILER_DRIVER_SIMULATEREPORT_H

#include "compiler/Driver/SimulateCosts.h"
#include "llvm/Support/raw_ostream.h"

namespace ptlc {

struct SimulationReport {
  const schedule::Table &table;
  const schedule::Simulation &result;
  const PipelineCosts &costs;
  const std::vector<double> *arenaBytes = nullptr; ///< of each rank, if a program was compiled
  std::optional<MeasuredSteps> measured;
};

/// Prints time, idle shares in both conventions, and busy time, slots and memory of each rank.
void printSimulation(const SimulationReport &report, llvm::raw_ostream &os);

/// {"schedule", "ranks", "chunks", "micros", "seconds", "period", "idle_of_total",
///  "idle_over_ideal", "per_rank": [{"busy", "idle_of_total", "idle_over_ideal", "slots": {"S": 4},
///  "bytes"}], "measured": {"seconds", "idle_of_total", "idle_over_ideal"}}. The shares are those
///  of all ranks together.
void printSimulationJson(const SimulationReport &report, llvm::raw_ostream &os);

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_SIMULATEREPORT_H
