//===- SimulateProgram.h - The pipeline of a compiled plan ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_SIMULATEPROGRAM_H
#define PTLC_COMPILER_DRIVER_SIMULATEPROGRAM_H

#include "compiler/Driver/Frontend.h"
#include "compiler/Driver/SimulateCosts.h"

namespace ptlc {

/// What a plan's pipeline was compiled to.
struct PlannedPipeline {
  schedule::Table table;
  std::vector<double> arenaBytes; ///< of each rank, at its peak
  std::string cluster;            ///< empty: the plan names none
  schedule::Costs predicted;      ///< on that cluster, by the model of step times
};

/// Compiles `program` under `plan`, whose pipeline has several ranks, as far as memory is known.
/// Returns nullopt after messages on standard error or in `frontend`.
std::optional<PlannedPipeline> compilePipeline(Frontend &frontend, const sema::Program &program,
                                               sema::PlanSpec plan);

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_SIMULATEPROGRAM_H
