//===- Stages.h - What passes know of a pipeline ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The parts of a micro-batch in order: of S stages, parts 0 .. S-1 are their
// forwards, part S is the loss with its gradient, parts S+1 .. 2S are the backwards
// of the stages S-1 .. 0. A value is only used by its own and later parts.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_SUPPORT_STAGES_H
#define PTLC_COMPILER_SUPPORT_STAGES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"

namespace ptlc {

/// Of an operation in the body over micro-batches: its part.
inline constexpr llvm::StringLiteral kPart = "ptl.part";
/// Of a module: the number of stages.
inline constexpr llvm::StringLiteral kStages = "ptl.stages";
/// Of a module with one module per rank of the pipeline: the packed table.
inline constexpr llvm::StringLiteral kPackedTable = "rt.table";
/// Of a rank's module: its coordinate on the pipeline's axis.
inline constexpr llvm::StringLiteral kPipeRank = "rt.pipe_rank";
/// Of a rank's module: slots of each kind.
inline constexpr llvm::StringLiteral kSlots = "rt.slots";

/// Most stages of one rank.
inline constexpr int64_t kMaxChunks = 8;

/// The programs of the pipeline's ranks, or the module itself if there is no pipeline.
inline llvm::SmallVector<mlir::ModuleOp> rankPrograms(mlir::ModuleOp module) {
  llvm::SmallVector<mlir::ModuleOp> programs(module.getOps<mlir::ModuleOp>());
  if (programs.empty())
    programs.push_back(module);
  return programs;
}

/// What the plan says of the pipeline, or null.
inline mlir::DictionaryAttr pipelineOf(mlir::ModuleOp module) {
  auto plan = module->getAttrOfType<mlir::DictionaryAttr>("ptl.plan");
  return plan ? plan.getAs<mlir::DictionaryAttr>("pipeline") : mlir::DictionaryAttr();
}

} // namespace ptlc

#endif // PTLC_COMPILER_SUPPORT_STAGES_H
