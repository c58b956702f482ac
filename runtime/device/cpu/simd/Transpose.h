//===- Transpose.h - Square blocks of one vector's width ------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLRT_DEVICE_CPU_SIMD_TRANSPOSE_H
#define PTLRT_DEVICE_CPU_SIMD_TRANSPOSE_H

#include "runtime/device/cpu/simd/Vector.h"

namespace ptlrt::cpu::PTLRT_SIMD_NAMESPACE {

#ifdef __AVX512F__
PTLRT_INLINE __m512 unpackPairs(__m512 a, __m512 b, bool high) {
  __m512d x = _mm512_castps_pd(a), y = _mm512_castps_pd(b);
  return _mm512_castpd_ps(high ? _mm512_unpackhi_pd(x, y) : _mm512_unpacklo_pd(x, y));
}

/// r becomes its transpose: unpacking transposes 4 x 4 blocks inside each 128-bit
/// quarter, two rounds of quarter shuffles move the blocks to their places.
PTLRT_INLINE void transposeSquare(Vec (&r)[kLanes]) {
  Vec t[kLanes];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4)
    for (int h = 0; h < 2; ++h) {
      r[i + 2 * h] = unpackPairs(t[i + h], t[i + 2 + h], false);
      r[i + 2 * h + 1] = unpackPairs(t[i + h], t[i + 2 + h], true);
    }
  for (int g = 0; g < 16; g += 8)
    for (int i = 0; i < 4; ++i) {
      t[g + i] = _mm512_shuffle_f32x4(r[g + i], r[g + 4 + i], 0x88);
      t[g + 4 + i] = _mm512_shuffle_f32x4(r[g + i], r[g + 4 + i], 0xdd);
    }
  for (int i = 0; i < 8; ++i) {
    r[i] = _mm512_shuffle_f32x4(t[i], t[8 + i], 0x88);
    r[8 + i] = _mm512_shuffle_f32x4(t[i], t[8 + i], 0xdd);
  }
}
#else
PTLRT_INLINE void transposeSquare(Vec (&r)[kLanes]) {
  Vec t[kLanes];
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4)
    for (int h = 0; h < 2; ++h) {
      r[i + 2 * h] = _mm256_shuffle_ps(t[i + h], t[i + 2 + h], 0x44);
      r[i + 2 * h + 1] = _mm256_shuffle_ps(t[i + h], t[i + 2 + h], 0xee);
    }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm256_permute2f128_ps(r[i], r[4 + i], 0x20);
    t[4 + i] = _mm256_permute2f128_ps(r[i], r[4 + i], 0x31);
  }
  for (int i = 0; i < 8; ++i)
    r[i] = t[i];
}
#endif

/// d[k * ldd + j] = s[j * lds + k] for a full square.
PTLRT_INLINE void transposeBlock(const float *s, int64_t lds, float *d, int64_t ldd) {
  Vec r[kLanes];
  for (int j = 0; j < kLanes; ++j)
    r[j] = load(s + j * lds);
  transposeSquare(r);
  for (int k = 0; k < kLanes; ++k)
    store(d + k * ldd, r[k]);
}

/// The same for j < rows and k < cols only; lanes of d beyond `rows` become 0.
static inline void transposeEdge(const float *s, int64_t lds, int64_t rows, int64_t cols, float *d,
                                 int64_t ldd) {
  Vec r[kLanes];
  Mask valid = firstLanes(cols);
  for (int j = 0; j < kLanes; ++j)
    r[j] = j < rows ? loadMasked(s + j * lds, valid) : zero();
  transposeSquare(r);
  for (int k = 0; k < kLanes; ++k)
    if (k < cols)
      store(d + k * ldd, r[k]);
}

} // namespace ptlrt::cpu::PTLRT_SIMD_NAMESPACE

#endif // PTLRT_DEVICE_CPU_SIMD_TRANSPOSE_H
