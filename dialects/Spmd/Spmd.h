//===- Spmd.h - Meshes, shardings and collectives ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_SPMD_SPMD_H
#define PTLC_DIALECTS_SPMD_SPMD_H

#include "dialects/Ptl/Ptl.h"
#include "dialects/Spmd/Extent.h"
#include "mlir/IR/SymbolTable.h"

#include "dialects/Spmd/SpmdDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Spmd/SpmdAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Spmd/SpmdOps.h.inc"

namespace ptlc::spmd {

/// Of a collective, a text: what was weighed, too, and would have been dearer.
inline constexpr llvm::StringLiteral kInsteadOf = "spmd.instead_of";

/// Digits of the exact sums that `spmd.square_sum` makes; see there.
inline constexpr int64_t kSumDigits = 12;

/// Returns the only mesh of a module, or null.
MeshOp findMesh(mlir::Operation *module);

/// True if the operation moves data between devices.
bool isCollective(mlir::Operation *op);

/// Returns the number of devices in a group over `axes`.
int64_t groupSize(MeshOp mesh, AxesAttr axes);

} // namespace ptlc::spmd

#endif // PTLC_DIALECTS_SPMD_SPMD_H
