//===- Programs.h - Programs of the ranks of a pipeline ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_SUPPORT_PROGRAMS_H
#define PTLC_COMPILER_SUPPORT_PROGRAMS_H

#include "compiler/Support/Stages.h"

namespace ptlc {

/// Of a module: the paths of each stage's layers, in order.
inline constexpr llvm::StringLiteral kStageLayers = "ptl.stage_layers";

/// The axis along which ranks run other programs than `program`, one of a pipeline's ranks, so that
/// what it does with them must keep its order; null if all run this one.
inline mlir::StringAttr axisOfPrograms(mlir::ModuleOp program) {
  return program->hasAttr(kPipeRank) ? pipelineOf(program).getAs<mlir::StringAttr>("axis")
                                     : mlir::StringAttr();
}

} // namespace ptlc

#endif // PTLC_COMPILER_SUPPORT_PROGRAMS_H
