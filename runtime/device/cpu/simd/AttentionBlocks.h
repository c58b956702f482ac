//===- AttentionBlocks.h - What both directions of attention share --------===//
// SPDX-License-Identifier: Apache-2.0
//
// After FlashAttention (Dao et al. 2022; backward as in FlashAttention-2, Dao 2023),
// for caches of a CPU. Scores exist for kQueryBlock queries times kKeyBlock keys at
// a time. The forward keeps the logarithm of the sum of exponentials of each query,
// from which the backward recomputes the probabilities. Operands are copied into
// panels of kTileCols columns, transposed where a product needs it, so that the tile
// of Tile.h reads them contiguously. The scale is folded into a copy.
//
// Which keys a query sees: key_start + j <= query_start + i if causal, > query_start
// + i - window if there is a window, j < key_valid, and the mask. Blocks without a
// visible key are skipped, so are the parts of a block beyond the diagonal and before
// the window: tile by tile, a product leaves out what no query of the tile sees. A
// query that sees nothing has output 0, lse minus infinity and no gradient.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_DEVICE_CPU_SIMD_ATTENTIONBLOCKS_H
#define PTLRT_DEVICE_CPU_SIMD_ATTENTIONBLOCKS_H

#include "runtime/device/cpu/Kernels.h"
#include "runtime/device/cpu/simd/Tile.h"
#include "runtime/device/cpu/simd/Transpose.h"

namespace ptlrt::cpu::PTLRT_SIMD_NAMESPACE {

constexpr int64_t kQueryBlock = 64;
constexpr int64_t kKeyBlock = 256;               ///< a multiple of kTileCols
constexpr int64_t kScoreStride = kKeyBlock + 16; ///< an odd number of cache lines
constexpr float kHidden = -__builtin_inff();

/// Half-open range of keys or queries.
struct Range {
  int64_t begin, end;
  bool empty() const { return begin >= end; }
};

/// Keys that query i may see, the mask aside.
PTLRT_INLINE Range visibleKeys(const AttentionShape &s, int64_t i) {
  int64_t place = s.queryStart + i - s.keyStart;
  int64_t end = minOf(s.keys, s.keyValid);
  if (s.causal)
    end = minOf(end, place + 1);
  int64_t begin = s.window > 0 ? maxOf(0, place - s.window + 1) : 0;
  return {begin, maxOf(begin, end)};
}

/// Keys that any query of a block may see: both ends grow with the query.
PTLRT_INLINE Range visibleKeys(const AttentionShape &s, Range queries) {
  Range first = visibleKeys(s, queries.begin), last = visibleKeys(s, queries.end - 1);
  return {first.empty() ? last.begin : first.begin, last.end};
}

/// Those of `queries` that may see any of `keys`, the mask aside.
PTLRT_INLINE Range seeingQueries(const AttentionShape &s, Range queries, Range keys) {
  int64_t shift = s.keyStart - s.queryStart;
  if (s.causal)
    queries.begin = maxOf(queries.begin, keys.begin + shift);
  if (s.window > 0)
    queries.end = minOf(queries.end, keys.end - 1 + s.window + shift);
  return queries;
}

/// Panels d[(j / kTileCols)][c][j % kTileCols] = x[j * row + c]: columns are keys.
static void packTransposed(const float *x, int64_t row, int64_t count, int64_t width, float *d) {
  for (int64_t j = 0; j < count; j += kLanes) {
    float *panel = d + j / kTileCols * kTileCols * width + j % kTileCols;
    int64_t rows = minOf(kLanes, count - j), c = 0;
    if (rows == kLanes)
      for (; c + kLanes <= width; c += kLanes)
        transposeBlock(x + j * row + c, row, panel + c * kTileCols, kTileCols);
    for (; c < width; c += kLanes)
      transposeEdge(x + j * row + c, row, rows, width - c, panel + c * kTileCols, kTileCols);
  }
  if (count % kTileCols != 0 && count % kTileCols <= kLanes) {
    float *panel = d + count / kTileCols * kTileCols * width + kLanes;
    for (int64_t c = 0; c < width; ++c)
      store(panel + c * kTileCols, zero());
  }
}

/// Panels d[(c / kTileCols) * panelRows + j][c % kTileCols] = factor * x[j * row + c]:
/// columns are features.
static void packColumns(const float *x, int64_t row, int64_t count, int64_t width, float factor,
                        float *d, int64_t panelRows) {
  Vec f = splat(factor);
  for (int64_t c = 0; c < width; c += kTileCols, d += panelRows * kTileCols) {
    Mask m0 = firstLanes(width - c), m1 = firstLanes(width - c - kLanes);
    for (int64_t j = 0; j < count; ++j) {
      const float *s = x + j * row + c;
      store(d + j * kTileCols, loadMasked(s, m0) * f);
      store(d + j * kTileCols + kLanes, loadMasked(s + kLanes, m1) * f);
    }
  }
}

/// Row stride of a copy whose columns are also read as panels: room for whole panels,
/// and an odd number of cache lines.
PTLRT_INLINE int64_t strideOf(int64_t width) { return 16 * (roundUp(width, kTileCols) / 16 | 1); }

/// d[i * ld + c] = x[i * row + c] * factor, 0 for columns beyond `width` up to a panel.
static void copyScaled(const float *x, int64_t row, int64_t count, int64_t width, float factor,
                       float *d, int64_t ld) {
  Vec f = splat(factor);
  for (int64_t i = 0; i < count; ++i, x += row, d += ld) {
    int64_t c = 0;
    for (; c + kLanes <= width; c += kLanes)
      store(d + c, load(x + c) * f);
    if (c < width)
      store(d + c, loadMasked(x + c, firstLanes(width - c)) * f);
    for (c = roundUp(width, kLanes); c < roundUp(width, kTileCols); c += kLanes)
      store(d + c, zero());
  }
}

/// C[m, cols] (+)= A B for one panel of B. `reach` gives the k that rows of a tile need.
template <Walk walk, typename Reach>
PTLRT_INLINE void multiplyPanel(int64_t m, const Reach &reach, const float *a, int64_t lda,
                                const float *b, int64_t ldb, float *c, int64_t ldc, int64_t cols,
                                bool accumulate) {
  TileRows rows(m);
  for (int64_t t = 0, i = 0; t < rows.tiles; ++t) {
    int64_t height = rows.height(t);
    Range k = reach(Range{i, i + height});
    const float *from = a + (walk == Walk::Rows ? i * lda + k.begin : k.begin * lda + i);
    tileOf<walk>(height)(maxOf(0, k.end - k.begin), from, lda, b + k.begin * ldb, ldb, c + i * ldc,
                         ldc, cols, accumulate);
    i += height;
  }
}

/// C[m, width] (+)= A B for panels of B that lie `panelSize` apart.
template <Walk walk, typename Reach>
static void multiplyPanels(int64_t m, const Reach &reach, const float *a, int64_t lda,
                           const float *panels, int64_t panelSize, float *c, int64_t ldc,
                           int64_t width, bool accumulate) {
  for (int64_t j = 0; j < width; j += kTileCols, panels += panelSize)
    multiplyPanel<walk>(m, reach, a, lda, panels, kTileCols, c + j, ldc,
                        minOf(kTileCols, width - j), accumulate);
}

/// Scores of `queries` (rows of x, `width` long) with the keys `block`, for whole panels
/// of keys; those that no query sees are left as they are.
static void multiplyKeys(const AttentionShape &s, Range queries, Range block, const float *x,
                         int64_t ldx, int64_t width, const float *panels, float *scores) {
  for (int64_t j = block.begin; j < block.end; j += kTileCols, panels += kTileCols * width) {
    Range rows = seeingQueries(s, queries, {j, minOf(j + kTileCols, block.end)});
    if (rows.empty())
      continue;
    int64_t first = rows.begin - queries.begin;
    multiplyPanel<Walk::Rows>(
        rows.end - rows.begin, [&](Range) { return Range{0, width}; }, x + first * ldx, ldx, panels,
        kTileCols, scores + first * kScoreStride + (j - block.begin), kScoreStride, kTileCols,
        false);
  }
}

/// For products over the keys of a block: which of them the queries of a tile see.
struct KeysOfTile {
  const AttentionShape &s;
  Range queries, block;
  Range operator()(Range tile) const {
    Range seen = visibleKeys(s, {queries.begin + tile.begin, queries.begin + tile.end});
    int64_t begin = maxOf(seen.begin, block.begin) - block.begin;
    return {minOf(begin, block.end - block.begin), minOf(seen.end, block.end) - block.begin};
  }
};

/// For products over a block of queries: which of them see the keys of a tile.
struct QueriesOfTile {
  const AttentionShape &s;
  Range queries, block;
  Range operator()(Range tile) const {
    Range seen = seeingQueries(s, queries, {block.begin + tile.begin, block.begin + tile.end});
    int64_t begin = seen.begin - queries.begin;
    return {minOf(begin, queries.end - queries.begin), seen.end - queries.begin};
  }
};

/// Hides the scores whose byte of the mask is 0.
static void hideMasked(const uint8_t *mask, int64_t stride, Range part, float *scores) {
  int64_t j = part.begin;
  if (stride == 1)
    for (; j + kLanes <= part.end; j += kLanes)
      store(scores + j, select(maskOfBytes(mask + j), load(scores + j), splat(kHidden)));
  for (; j < part.end; ++j)
    scores[j] = mask[j * stride] ? scores[j] : kHidden;
}

/// Hides what the query may not see in a row of scores for keys `block`: everything
/// outside of `visible`, and the mask's zeros. Returns the part that may be seen,
/// relative to the block.
static Range hideScores(const AttentionShape &s, const uint8_t *mask, int64_t query, Range block,
                        float *scores) {
  Range visible = visibleKeys(s, query);
  Range part = {maxOf(visible.begin, block.begin) - block.begin,
                minOf(visible.end, block.end) - block.begin};
  if (part.empty())
    return {0, 0};
  // Vectors start at the first lane's multiple and end at the next one.
  for (int64_t j = part.begin / kLanes * kLanes; j < part.begin; ++j)
    scores[j] = kHidden;
  int64_t end = roundUp(part.end, kLanes);
  for (int64_t j = part.end; j < end; ++j)
    scores[j] = kHidden;
  if (s.masked)
    hideMasked(mask + query * s.maskRow + block.begin * s.maskCol, s.maskCol, part, scores);
  return {part.begin / kLanes * kLanes, end};
}

/// Zeroes a row outside of `part` up to `end`.
PTLRT_INLINE void clearOutside(float *row, Range part, int64_t end) {
  for (int64_t j = 0; j < part.begin; j += kLanes)
    store(row + j, zero());
  for (int64_t j = part.end; j < end; j += kLanes)
    store(row + j, zero());
}

} // namespace ptlrt::cpu::PTLRT_SIMD_NAMESPACE

#endif // PTLRT_DEVICE_CPU_SIMD_ATTENTIONBLOCKS_H
