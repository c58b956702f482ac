//===- Verify.h - What verifiers of collectives share -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_SPMD_VERIFY_H
#define PTLC_DIALECTS_SPMD_VERIFY_H

#include "dialects/Spmd/Spmd.h"

namespace ptlc::spmd {

/// (C1) of every collective: there are axes, none of them twice.
mlir::LogicalResult verifyAxes(mlir::Operation *op, AxesAttr axes);
/// Returns the mesh that `op` refers to, with a diagnostic if there is none.
MeshOp lookUpMesh(mlir::Operation *op, mlir::FlatSymbolRefAttr symbol,
                  mlir::SymbolTableCollection &tables);
/// Reports an axis that the mesh doesn't have.
mlir::LogicalResult verifyAxesOf(mlir::Operation *op, MeshOp mesh,
                                 llvm::ArrayRef<mlir::StringAttr> names);

} // namespace ptlc::spmd

#endif // PTLC_DIALECTS_SPMD_VERIFY_H
