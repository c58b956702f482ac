//===- StageCosts.h - Table and costs of a compiled pipeline ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_STAGECOSTS_H
#define PTLC_COMPILER_DRIVER_STAGECOSTS_H

#include "compiler/Schedule/Simulate.h"
#include "mlir/IR/BuiltinOps.h"

namespace ptlc {

/// What the ranks of a pipeline do in a step.
struct CompiledPipeline {
  schedule::Table table;
  schedule::Costs flops; ///< of each stage and micro-batch; messages take no time
};

/// Reads the table of `module`; nullopt without a pipeline.
std::optional<schedule::Table> tableOf(mlir::ModuleOp module);

/// Reads the table of `module`, which is cut into stages, and counts the FLOPs of each. Returns
/// nullopt without a pipeline.
std::optional<CompiledPipeline> compiledPipelineOf(mlir::ModuleOp module);

/// The idle share of all ranks' time if stages take as long as their FLOPs.
double bubbleOf(const CompiledPipeline &pipeline);

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_STAGECOSTS_H
