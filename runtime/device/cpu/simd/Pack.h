//===- Pack.h - Operands of matrix products, copied into panels -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a tile reads of B, and of a transposed A, becomes contiguous.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_DEVICE_CPU_SIMD_PACK_H
#define PTLRT_DEVICE_CPU_SIMD_PACK_H

#include "runtime/device/cpu/simd/Tile.h"
#include "runtime/device/cpu/simd/Transpose.h"

namespace ptlrt::cpu::PTLRT_SIMD_NAMESPACE {

constexpr int64_t kLine = 16; ///< floats of a cache line

/// d[k * kTileCols + j] = op(B)[k, j] for j < cols, else 0.
static void packPanel(bool trans, const float *b, int64_t ldb, int64_t depth, int64_t cols,
                      float *d) {
  if (!trans) {
    Mask m0 = firstLanes(cols), m1 = firstLanes(cols - kLanes);
    bool full = cols >= kTileCols;
    for (int64_t k = 0; k < depth; ++k, b += ldb, d += kTileCols) {
      __builtin_prefetch(b + 24 * ldb);
      __builtin_prefetch(b + 24 * ldb + kTileCols - 1);
      store(d, full ? load(b) : loadMasked(b, m0));
      store(d + kLanes, full ? load(b + kLanes) : loadMasked(b + kLanes, m1));
    }
    return;
  }
  for (int64_t half = 0; half < kTileCols; half += kLanes) {
    int64_t rows = minOf(kLanes, cols - half), k = 0;
    const float *s = b + half * ldb;
    if (rows == kLanes)
      for (; k + kLanes <= depth; k += kLanes) {
        if (half == 0)
          for (int64_t i = 0; i < kLanes; ++i)
            __builtin_prefetch(d + (k + 4 * kLanes + i) * kTileCols, 1);
        transposeBlock(s + k, ldb, d + k * kTileCols + half, kTileCols);
      }
    for (; k < depth; k += kLanes)
      transposeEdge(s + k, ldb, rows, depth - k, d + k * kTileCols + half, kTileCols);
  }
}

/// Packs rows of transposed A for tiles of the heights of `rows`: each tile is
/// contiguous, d[k * height + i]. Several tiles advance together, so that cache lines
/// of A are read once. Vectors are written whole: the excess is overwritten by the next
/// k, since all tiles but the last are at least half a vector high.
static void packTransposedA(const float *a, int64_t lda, int64_t depth, const TileRows &rows,
                            float *d) {
  constexpr int64_t kTogether = 8, kAhead = 16;
  for (int64_t first = 0; first < rows.tiles; first += kTogether) {
    int64_t count = minOf(kTogether, rows.tiles - first), width = 0;
    int64_t columns[kTogether], heights[kTogether];
    float *tiles[kTogether];
    Mask valid[2] = {firstLanes(rows.base), firstLanes(rows.base + 1)};
    for (int64_t t = 0; t < count; ++t) {
      columns[t] = width;
      heights[t] = rows.height(first + t);
      tiles[t] = d;
      width += heights[t];
      d += heights[t] * depth;
    }
    const float *s = a;
    for (int64_t k = 0; k + 1 < depth; ++k, s += lda) {
      for (int64_t c = 0; c < width + kLine; c += kLine)
        __builtin_prefetch(s + kAhead * lda + c);
      for (int64_t t = 0; t < count; ++t)
        store(tiles[t] + k * heights[t], loadMasked(s + columns[t], valid[heights[t] > rows.base]));
    }
    for (int64_t t = 0; t < count; ++t)
      for (int64_t i = 0; i < heights[t]; ++i)
        tiles[t][(depth - 1) * heights[t] + i] = s[columns[t] + i];
    a += width;
  }
}

} // namespace ptlrt::cpu::PTLRT_SIMD_NAMESPACE

#endif // PTLRT_DEVICE_CPU_SIMD_PACK_H
