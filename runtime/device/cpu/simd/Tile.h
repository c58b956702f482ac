//===- Tile.h - The innermost matrix product ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A tile of C, up to kTileRows x kTileCols (two vectors), is held in registers
// while k runs: per k, two vectors of B and one broadcast of A for each row, which
// feeds two fused multiply-adds. 6 x 16 with AVX2 fills 15 of 16 registers, 14 x 32
// with AVX-512 31 of 32; both hide the latency of the multiply-add units.
//
// The sum over k of one element is one chain in ascending k, whatever tile the
// element falls into, so that results don't depend on how m and n are divided.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_DEVICE_CPU_SIMD_TILE_H
#define PTLRT_DEVICE_CPU_SIMD_TILE_H

#include "runtime/device/cpu/simd/Vector.h"
#include <utility>

namespace ptlrt::cpu::PTLRT_SIMD_NAMESPACE {

#ifdef __AVX512F__
constexpr int kTileRows = 14;
#else
constexpr int kTileRows = 6;
#endif
constexpr int kTileCols = 2 * kLanes;

/// How a tile reads A: element (i, k) at a[i * lda + k] or at a[k * lda + i].
enum class Walk { Rows, Columns };

/// Where a tile reads A. Rows: a pointer for each three rows, so that [p], [p + lda]
/// and [p + 2 lda] are plain addressing modes; columns: one pointer.
template <Walk walk, int Rows> struct Cursor {
  static constexpr int kPointers = walk == Walk::Rows ? (Rows + 2) / 3 : 1;
  const float *p[kPointers];
  int64_t lda;

  PTLRT_ALWAYS Cursor(const float *a, int64_t lda) : lda(lda) {
    for (int i = 0; i < kPointers; ++i)
      p[i] = a + 3 * i * lda;
  }
  /// Row i, `step` values of k further on.
  template <int I> PTLRT_ALWAYS float at(int step) const {
    return walk == Walk::Rows ? p[I / 3 % kPointers][I % 3 * lda + step] : p[0][step * lda + I];
  }
  PTLRT_ALWAYS void advance(int steps) {
    for (int i = 0; i < kPointers; ++i)
      p[i] += walk == Walk::Rows ? steps : steps * lda;
  }
};

template <int I, typename A>
PTLRT_INLINE void multiplyRow(Vec (&x)[2], const A &a, int step, Vec b0, Vec b1) {
  // One broadcast that both products share. The products are written in place, or
  // compilers use forms that move accumulators through other registers and memory.
  Vec s = splat(a.template at<I>(step));
  fmaInPlace(s, b0, x[0]);
  fmaInPlace(s, b1, x[1]);
}

template <typename A, int... I>
PTLRT_INLINE void multiplyStep(Vec (&x)[sizeof...(I)][2], const A &a, int step, const float *b,
                               std::integer_sequence<int, I...>) {
  Vec b0 = load(b), b1 = load(b + kLanes);
  (multiplyRow<I>(x[I], a, step, b0, b1), ...);
}

PTLRT_INLINE void storeRow(const Vec (&x)[2], float *c, bool accumulate) {
  store(c, accumulate ? x[0] + load(c) : x[0]);
  store(c + kLanes, accumulate ? x[1] + load(c + kLanes) : x[1]);
}

PTLRT_INLINE void storeRowMasked(const Vec (&x)[2], float *c, bool accumulate, Mask m0, Mask m1) {
  storeMasked(c, m0, accumulate ? x[0] + loadMasked(c, m0) : x[0]);
  storeMasked(c + kLanes, m1, accumulate ? x[1] + loadMasked(c + kLanes, m1) : x[1]);
}

template <int... I>
PTLRT_INLINE void storeTile(const Vec (&x)[sizeof...(I)][2], float *c, int64_t ldc, int64_t cols,
                            bool accumulate, std::integer_sequence<int, I...>) {
  if (cols >= kTileCols) {
    (storeRow(x[I], c + I * ldc, accumulate), ...);
    return;
  }
  Mask m0 = firstLanes(cols), m1 = firstLanes(cols - kLanes);
  (storeRowMasked(x[I], c + I * ldc, accumulate, m0, m1), ...);
}

template <int... I>
PTLRT_INLINE void clearTile(Vec (&x)[sizeof...(I)][2], float *c, int64_t ldc,
                            std::integer_sequence<int, I...>) {
  ((x[I][0] = x[I][1] = zero(), __builtin_prefetch(c + I * ldc, 1),
    __builtin_prefetch(c + I * ldc + kTileCols - 1, 1)),
   ...);
}

/// C[Rows, cols] (+)= A B over `depth` values of k; B has kTileCols readable
/// columns and a row every `ldb` elements, C's columns beyond `cols` stay.
template <int Rows, Walk walk>
static void tile(int64_t depth, const float *a, int64_t lda, const float *b, int64_t ldb, float *c,
                 int64_t ldc, int64_t cols, bool accumulate) {
  using Sequence = std::make_integer_sequence<int, Rows>;
  Vec x[Rows][2];
  clearTile(x, c, ldc, Sequence());
  Cursor<walk, Rows> at(a, lda);
  for (; depth >= 4; depth -= 4, b += 4 * ldb) {
    multiplyStep(x, at, 0, b, Sequence());
    multiplyStep(x, at, 1, b + ldb, Sequence());
    multiplyStep(x, at, 2, b + 2 * ldb, Sequence());
    multiplyStep(x, at, 3, b + 3 * ldb, Sequence());
    at.advance(4);
  }
  for (; depth > 0; --depth, b += ldb) {
    multiplyStep(x, at, 0, b, Sequence());
    at.advance(1);
  }
  storeTile(x, c, ldc, cols, accumulate, Sequence());
}

using TileFn = void (*)(int64_t depth, const float *a, int64_t lda, const float *b, int64_t ldb,
                        float *c, int64_t ldc, int64_t cols, bool accumulate);

/// The kernels for 1 .. kTileRows rows, by the number of rows less one.
template <Walk walk, typename Sequence> struct TileTable;
template <Walk walk, int... I> struct TileTable<walk, std::integer_sequence<int, I...>> {
  static constexpr TileFn kTiles[] = {tile<I + 1, walk>...};
};

template <Walk walk> PTLRT_INLINE TileFn tileOf(int64_t rows) {
  return TileTable<walk, std::make_integer_sequence<int, kTileRows>>::kTiles[rows - 1];
}

/// Divides `rows` into tiles whose heights differ by at most one.
struct TileRows {
  int64_t tiles, base, larger;
  explicit TileRows(int64_t rows)
      : tiles(ceilDiv(rows, kTileRows)), base(rows / tiles), larger(rows % tiles) {}
  int64_t height(int64_t t) const { return base + (t < larger); }
};

} // namespace ptlrt::cpu::PTLRT_SIMD_NAMESPACE

#endif // PTLRT_DEVICE_CPU_SIMD_TILE_H
