//===- OutlineRest.h - Kernels for operations that were not fused ---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_FUSE_OUTLINEREST_H
#define PTLC_COMPILER_TRANSFORMS_FUSE_OUTLINEREST_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

namespace ptlc::fuse {

/// Replaces attention that the runtime lacks by its expansion, and gives operands and results of
/// contractions an order of dimensions that a matrix product can use.
void expandUnsupported(mlir::Operation *function);

/// Says with indices what a device does with its part of a dimension: which shard of a whole value
/// it keeps (`spmd.slice`), whether it is the one that keeps a value (`spmd.keep`), and what
/// `ptl.gather` and `ptl.scatter_add` with a cut leave to others.
void expandLocal(mlir::Operation *function);

/// Outlines each operation of `block` that isn't in a kernel yet; erases free operations nobody
/// needs.
void outlineRest(mlir::Block &block);

} // namespace ptlc::fuse

#endif // PTLC_COMPILER_TRANSFORMS_FUSE_OUTLINEREST_H
