//===- Pipeline.h - The passes, in order ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The pipeline is a table: a pass by its flag, the phase that it helps to reach
// and the reason for its place. Constraints are a second table, checked by a
// unit test, so that a pass that must run before another can't be moved by
// accident.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_PIPELINES_PIPELINE_H
#define PTLC_COMPILER_PIPELINES_PIPELINE_H

#include "compiler/Pipelines/Phases.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace ptlc {

struct PassRow {
  llvm::StringRef pass; ///< flag and options as ptl-opt takes them: "comm-combine{bytes=4}"
  Phase phase;
  llvm::StringRef reason;
};

/// `before` must stand earlier than `after`.
struct OrderRow {
  llvm::StringRef before, after, why;
};

/// The passes from `flat` to `memory`, in order, and from there those of CUDA.
llvm::ArrayRef<PassRow> pipelineTable();
llvm::ArrayRef<OrderRow> pipelineConstraints();

/// Adds the passes that lead from `flat` to `last`, included. Fails with a message on `errors` if a
/// pass of the table isn't registered.
mlir::LogicalResult buildPipeline(mlir::OpPassManager &manager, Phase last,
                                  llvm::raw_ostream &errors);

/// Runs these passes on `module`; from the phase behind `pipelined` on, on the program of each rank
/// of a pipeline. `prepare` sees every pass manager first.
mlir::LogicalResult runPipeline(mlir::ModuleOp module, Phase last,
                                llvm::function_ref<void(mlir::PassManager &)> prepare,
                                llvm::raw_ostream &errors);

/// Prints the table for `--help-pipeline`.
void printPipeline(llvm::raw_ostream &os);

/// Registers dialects with their extensions and all passes; every tool calls it once.
void registerEverything(mlir::DialectRegistry &registry);

} // namespace ptlc

#endif // PTLC_COMPILER_PIPELINES_PIPELINE_H
