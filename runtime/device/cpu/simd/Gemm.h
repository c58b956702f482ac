//===- Gemm.h - Matrix products in blocks ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The loops around the tile, after Goto and van de Geijn ("Anatomy of
// High-Performance Matrix Multiplication", 2008): a panel of B, kDepth x kTileCols,
// stays in the first-level cache while all tiles of a block of A, which stays in
// the second-level cache, pass over it. B is repacked into contiguous panels; where
// its rows can be read in place without two of them falling into one cache set, and
// each panel is used for one block of A only, it isn't. A is packed only where its
// tiles would touch a new page at each k (transposed A).
//
// The next panel of B and the next block of A are fetched into the second-level cache a
// few lines per tile.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_DEVICE_CPU_SIMD_GEMM_H
#define PTLRT_DEVICE_CPU_SIMD_GEMM_H

#include "runtime/device/cpu/Kernels.h"
#include "runtime/device/cpu/simd/Pack.h"

namespace ptlrt::cpu::PTLRT_SIMD_NAMESPACE {

constexpr int64_t kColumnBlock = 1024; ///< columns of B that are kept packed
#ifdef __AVX512F__
constexpr int64_t kDepth = 256; ///< k of a block: a panel of B is 32 KiB
constexpr int64_t kRowBlock = 504;
#else
constexpr int64_t kDepth = 384; ///< k of a block: a panel of B is 24 KiB
constexpr int64_t kRowBlock = 264;
#endif

/// Floats of scratch: a packed block of A, and of B; kTileCols more to write past.
constexpr int64_t kGemmScratch =
    (kRowBlock + kTileRows) * kDepth + (kColumnBlock + kTileCols) * kDepth + 4 * kTileCols;

/// What to fetch into the second-level cache while something else is multiplied:
/// `lines` cache lines, in rows of `perRow` lines every `stride` elements, `share` of
/// them with each tile.
struct Prefetch {
  const float *from = nullptr;
  int64_t stride = 0, lines = 0, perRow = 0;
  int64_t share = 0, column = 0;
  Prefetch over(int64_t tiles) const {
    Prefetch result = *this;
    result.share = ceilDiv(lines, tiles);
    return result;
  }
  void fetchShare() {
    int64_t count = minOf(share, lines);
    lines -= count;
    for (; count > 0; --count, from += kLine) {
      if (column++ == perRow) {
        column = 1;
        from += stride - perRow * kLine;
      }
      __builtin_prefetch(from, 0, 2);
    }
  }
};

/// The parts of one product that stay the same for all panels of a block.
struct Block {
  const Product &p;
  const TileRows rows;
  const float *packedA; ///< null: read in place
  int64_t row0, k0, depth;

  /// C[block, j ..] (+)= A[block] * panel.
  void multiply(const float *panel, int64_t ldPanel, int64_t j, Prefetch nextPanel,
                Prefetch &nextBlock) const {
    int64_t cols = minOf(kTileCols, p.n - j);
    bool accumulate = p.accumulate || k0 > 0;
    const float *packed = packedA;
    for (int64_t t = 0, i = row0; t < rows.tiles; ++t) {
      int64_t height = rows.height(t);
      float *c = p.c + i * p.ldc + j;
      if (packed)
        tileOf<Walk::Columns>(height)(depth, packed, height, panel, ldPanel, c, p.ldc, cols,
                                      accumulate);
      else if (p.transA)
        tileOf<Walk::Columns>(height)(depth, p.a + k0 * p.lda + i, p.lda, panel, ldPanel, c, p.ldc,
                                      cols, accumulate);
      else
        tileOf<Walk::Rows>(height)(depth, p.a + i * p.lda + k0, p.lda, panel, ldPanel, c, p.ldc,
                                   cols, accumulate);
      if (packed)
        packed += height * depth;
      i += height;
      nextPanel.fetchShare();
      nextBlock.fetchShare();
    }
  }
};

/// Rows of B lie an odd number of cache lines apart: no two of a panel share a set.
PTLRT_INLINE bool spreadsOverSets(int64_t ld) { return ld % kLine == 0 && ld / kLine % 2 == 1; }

/// Small enough for the caches as it is: packing would only add work.
PTLRT_INLINE bool isSmall(const Product &p) { return p.k * p.ldb <= 32 * 1024; }

/// The sum over k is one chain per block of so many k; blocks are added in order.
PTLRT_INLINE int64_t blockDepth(int64_t k) { return roundUp(ceilDiv(k, ceilDiv(k, kDepth)), 8); }

/// How one product is cut up.
struct Plan {
  int64_t depth, rowBlock, rowBlocks, columnBlock;
  bool directB, packA;
  explicit Plan(const Product &p) {
    depth = blockDepth(p.k);
    rowBlocks = ceilDiv(p.m, kRowBlock);
    rowBlock = ceilDiv(p.m, rowBlocks);
    columnBlock = rowBlocks == 1 ? p.n : kColumnBlock;
    directB = !p.transB && ((rowBlocks == 1 && spreadsOverSets(p.ldb)) || isSmall(p));
    packA = p.transA && p.n > 2 * kTileCols && p.k * p.lda > 8 * 1024;
  }
};

PTLRT_INLINE const float *panelOf(const Product &p, int64_t k, int64_t j) {
  return p.b + (p.transB ? j * p.ldb + k : k * p.ldb + j);
}

/// A panel of B from column j on, if there is one.
PTLRT_INLINE Prefetch fetchPanel(const Product &p, int64_t k, int64_t depth, int64_t j) {
  if (j >= p.n)
    return {};
  if (p.transB)
    return {panelOf(p, k, j), p.ldb, minOf(kTileCols, p.n - j) * ceilDiv(depth, kLine),
            ceilDiv(depth, kLine)};
  return {panelOf(p, k, j), p.ldb, depth * (kTileCols / kLine), kTileCols / kLine};
}

PTLRT_INLINE Prefetch fetchPacked(const float *panel, int64_t depth) {
  int64_t lines = depth * (kTileCols / kLine);
  return {panel, 0, lines, lines};
}

/// A block of A, if there is one.
PTLRT_INLINE Prefetch fetchBlock(const Plan &plan, const Product &p, int64_t k, int64_t i) {
  if (i >= p.m)
    i = 0, k += plan.depth;
  if (k >= p.k)
    return {};
  int64_t depth = minOf(plan.depth, p.k - k), rows = minOf(plan.rowBlock, p.m - i);
  if (p.transA)
    return {p.a + k * p.lda + i, p.lda, depth * ceilDiv(rows, kLine), ceilDiv(rows, kLine)};
  return {p.a + i * p.lda + k, p.lda, rows * ceilDiv(depth, kLine), ceilDiv(depth, kLine)};
}

/// One block of A against the columns j0 .. j1 of B. The first block packs.
static void multiplyBlock(const Plan &plan, const Block &block, int64_t j0, int64_t j1,
                          float *packedB) {
  const Product &p = block.p;
  int64_t tiles = block.rows.tiles;
  Prefetch nextBlock = fetchBlock(plan, p, block.k0, block.row0 + plan.rowBlock)
                           .over(tiles * ceilDiv(j1 - j0, kTileCols));
  for (int64_t j = j0; j < j1; j += kTileCols) {
    bool direct = plan.directB && p.n - j >= kTileCols;
    // With a single block of A each panel is used once, so one buffer serves all.
    float *packed = packedB + (plan.rowBlocks > 1 ? (j - j0) * block.depth : 0);
    if (!direct && block.row0 == 0)
      packPanel(p.transB, panelOf(p, block.k0, j), p.ldb, block.depth, minOf(kTileCols, p.n - j),
                packed);
    int64_t after = j + kTileCols;
    // All packed panels together don't fit into the second-level cache.
    Prefetch nextPanel = direct || block.row0 == 0
                             ? fetchPanel(p, block.k0, block.depth, after)
                             : fetchPacked(packed + kTileCols * block.depth, block.depth);
    if (after >= j1)
      nextPanel = {};
    block.multiply(direct ? panelOf(p, block.k0, j) : packed, direct ? p.ldb : kTileCols, j,
                   nextPanel.over(tiles), nextBlock);
  }
}

/// C (+)= op(A) op(B) for any m, n, k > 0.
static void gemm(const Product &p, float *scratch) {
  Plan plan(p);
  float *packedA = scratch, *packedB = scratch + (kRowBlock + kTileRows) * kDepth + kTileCols;
  for (int64_t j0 = 0; j0 < p.n; j0 += plan.columnBlock)
    for (int64_t k0 = 0; k0 < p.k; k0 += plan.depth)
      for (int64_t i0 = 0; i0 < p.m; i0 += plan.rowBlock) {
        int64_t depth = minOf(plan.depth, p.k - k0);
        Block block = {
            p,    TileRows(minOf(plan.rowBlock, p.m - i0)), plan.packA ? packedA : nullptr, i0, k0,
            depth};
        if (plan.packA)
          packTransposedA(p.a + k0 * p.lda + i0, p.lda, depth, block.rows, packedA);
        multiplyBlock(plan, block, j0, minOf(p.n, j0 + plan.columnBlock), packedB);
      }
}

} // namespace ptlrt::cpu::PTLRT_SIMD_NAMESPACE

#endif // PTLRT_DEVICE_CPU_SIMD_GEMM_H
