//===- Spmd.h - Meshes, shardings and collectives ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_SPMD_SPMD_H
#define PTLC_DIALECTS_SPMD_SPMD_H

#include "dialects/Ptl/Ptl.h"
#include "mlir/IR/SymbolTable.h"

#include "dialects/Spmd/SpmdDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Spmd/SpmdAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Spmd/SpmdOps.h.inc"

namespace ptlc::spmd {

/// Returns ceil(... ceil(ceil(size / k1) / k2) ...): the local size of a dimension cut by axes of
/// `sizes`.
int64_t nestedCeil(int64_t size, llvm::ArrayRef<int64_t> sizes);

/// A shard of a dimension: where it starts in the whole, and how many elements of it are real.
struct Extent {
  int64_t start = 0;
  int64_t valid = 0;
};
/// Returns the shard of device `coordinates` (one per entry of `sizes`, major first) of a dimension
/// of `size` elements, by nested ceil: start = sum of c_i * b_i, v_i = clamp(v_(i-1) - c_i * b_i,
/// 0, b_i).
Extent shardExtent(int64_t size, llvm::ArrayRef<int64_t> sizes,
                   llvm::ArrayRef<int64_t> coordinates);

/// Returns the only mesh of a module, or null.
MeshOp findMesh(mlir::Operation *module);

} // namespace ptlc::spmd

#endif // PTLC_DIALECTS_SPMD_SPMD_H
