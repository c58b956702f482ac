//===- Extent.h - Nested ceil division --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// How a dimension is cut by a list of axes: each divides the block of the axes
// before it, rounding up, so that removing or adding the minor axis gives again a
// legal layout. Free of MLIR, since analyses use it on meshes of their own.
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_SPMD_EXTENT_H
#define PTLC_DIALECTS_SPMD_EXTENT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace ptlc::spmd {

/// Returns the blocks b0 = size, bi = ceil(b(i-1) / ki) for axes of `sizes` k1, k2, ...
llvm::SmallVector<int64_t, 4> nestedBlocks(int64_t size, llvm::ArrayRef<int64_t> sizes);

/// Returns the last of these blocks: the local size of a dimension cut by axes of `sizes`.
int64_t nestedCeil(int64_t size, llvm::ArrayRef<int64_t> sizes);

/// A shard of a dimension: where it starts in the whole, and how many elements of it are real.
struct Extent {
  int64_t start = 0;
  int64_t valid = 0;
  bool operator==(const Extent &) const = default;
};
/// Returns the shard of device `coordinates` (one per entry of `sizes`, major first) of a dimension
/// of `size` elements, by nested ceil: start = sum of c_i * b_i, v_i = clamp(v_(i-1) - c_i * b_i,
/// 0, b_i).
Extent shardExtent(int64_t size, llvm::ArrayRef<int64_t> sizes,
                   llvm::ArrayRef<int64_t> coordinates);

} // namespace ptlc::spmd

#endif // PTLC_DIALECTS_SPMD_EXTENT_H
