//===- Vector.h - f32 vectors of the instruction set being compiled -------===//
// SPDX-License-Identifier: Apache-2.0
//
// The kernels in this folder are written once and compiled once per instruction
// set (KernelsAvx2.cpp, KernelsAvx512.cpp). Everything lies in a namespace named
// after the set and nothing of the standard library is instantiated here: code
// that was compiled for a wide set must never be merged by the linker with an
// equal function that runs on every CPU.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_DEVICE_CPU_SIMD_VECTOR_H
#define PTLRT_DEVICE_CPU_SIMD_VECTOR_H

#include <immintrin.h>
#include <stdint.h>

#ifdef __AVX512F__
#define PTLRT_SIMD_NAMESPACE avx512
#else
#define PTLRT_SIMD_NAMESPACE avx2
#endif
#define PTLRT_ALWAYS inline __attribute__((always_inline))
#define PTLRT_INLINE static inline __attribute__((always_inline))

namespace ptlrt::cpu::PTLRT_SIMD_NAMESPACE {

PTLRT_INLINE int64_t minOf(int64_t a, int64_t b) { return a < b ? a : b; }
PTLRT_INLINE int64_t maxOf(int64_t a, int64_t b) { return a > b ? a : b; }
PTLRT_INLINE int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
PTLRT_INLINE int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }

#ifdef __AVX512F__

constexpr int kLanes = 16;
using Vec = __m512;
using Mask = __mmask16;

PTLRT_INLINE Vec load(const float *p) { return _mm512_loadu_ps(p); }
PTLRT_INLINE void store(float *p, Vec x) { _mm512_storeu_ps(p, x); }
/// bf16 is the upper half of an f32.
PTLRT_INLINE Vec loadBf16(const uint16_t *p) {
  __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(p));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}
/// Rounds as toBfloat16() of core/Bfloat16.h.
PTLRT_INLINE void storeBf16(uint16_t *p, Vec x) {
  __m512i bits = _mm512_castps_si512(x);
  __m512i last = _mm512_and_epi32(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  __m512i up = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), last);
  __m512i quiet = _mm512_or_epi32(bits, _mm512_set1_epi32(0x400000));
  __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  __m512i result = _mm512_srli_epi32(_mm512_mask_blend_epi32(nan, up, quiet), 16);
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), _mm512_cvtepi32_epi16(result));
}
PTLRT_INLINE Vec splat(float x) { return _mm512_set1_ps(x); }
PTLRT_INLINE Vec zero() { return _mm512_setzero_ps(); }
/// a * b + c.
PTLRT_INLINE Vec fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
/// c += a * b, in place: for loops whose accumulators must not leave their registers.
PTLRT_INLINE void fmaInPlace(Vec a, Vec b, Vec &c) {
  asm("vfmadd231ps %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
}
/// c - a * b.
PTLRT_INLINE Vec fnma(Vec a, Vec b, Vec c) { return _mm512_fnmadd_ps(a, b, c); }
/// The larger; `b` if one of them is not a number.
PTLRT_INLINE Vec maximum(Vec a, Vec b) { return _mm512_max_ps(a, b); }
PTLRT_INLINE Vec minimum(Vec a, Vec b) { return _mm512_min_ps(a, b); }
/// Lanes 0 .. n-1.
PTLRT_INLINE Mask firstLanes(int64_t n) {
  return n >= kLanes ? Mask(0xffff) : Mask((1u << (n > 0 ? n : 0)) - 1);
}
PTLRT_INLINE Vec loadMasked(const float *p, Mask m) { return _mm512_maskz_loadu_ps(m, p); }
PTLRT_INLINE void storeMasked(float *p, Mask m, Vec x) { _mm512_mask_storeu_ps(p, m, x); }
/// `x` where `m`, else `y`.
PTLRT_INLINE Vec select(Mask m, Vec x, Vec y) { return _mm512_mask_blend_ps(m, y, x); }
/// Lanes whose byte isn't 0.
PTLRT_INLINE Mask maskOfBytes(const uint8_t *p) {
  __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i *>(p));
  return _mm_test_epi8_mask(bytes, bytes);
}
PTLRT_INLINE Mask lessThan(Vec a, Vec b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
PTLRT_INLINE Mask isNan(Vec a) { return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q); }
PTLRT_INLINE float sumOf(Vec x) { return _mm512_reduce_add_ps(x); }
PTLRT_INLINE float maxOf(Vec x) { return _mm512_reduce_max_ps(x); }
PTLRT_INLINE Vec roundNearest(Vec x) {
  return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
/// x * 2^n for whole n in -126 .. 127.
PTLRT_INLINE Vec scalePower2(Vec x, Vec n) {
  __m512i e = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
  return _mm512_mul_ps(x, _mm512_castsi512_ps(_mm512_slli_epi32(e, 23)));
}

#else

constexpr int kLanes = 8;
using Vec = __m256;
using Mask = __m256i;

PTLRT_INLINE Vec load(const float *p) { return _mm256_loadu_ps(p); }
PTLRT_INLINE void store(float *p, Vec x) { _mm256_storeu_ps(p, x); }
PTLRT_INLINE Vec loadBf16(const uint16_t *p) {
  __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i *>(p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
}
PTLRT_INLINE void storeBf16(uint16_t *p, Vec x) {
  __m256i bits = _mm256_castps_si256(x);
  __m256i last = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  __m256i up = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), last);
  __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  __m256 nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
  __m256 chosen = _mm256_blendv_ps(_mm256_castsi256_ps(up), _mm256_castsi256_ps(quiet), nan);
  __m256i result = _mm256_srli_epi32(_mm256_castps_si256(chosen), 16);
  __m256i packed = _mm256_packus_epi32(result, result);
  packed = _mm256_permute4x64_epi64(packed, 0x08);
  _mm_storeu_si128(reinterpret_cast<__m128i *>(p), _mm256_castsi256_si128(packed));
}
PTLRT_INLINE Vec splat(float x) { return _mm256_set1_ps(x); }
PTLRT_INLINE Vec zero() { return _mm256_setzero_ps(); }
PTLRT_INLINE Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
PTLRT_INLINE void fmaInPlace(Vec a, Vec b, Vec &c) {
  asm("vfmadd231ps %2, %1, %0" : "+x"(c) : "x"(a), "x"(b));
}
PTLRT_INLINE Vec fnma(Vec a, Vec b, Vec c) { return _mm256_fnmadd_ps(a, b, c); }
PTLRT_INLINE Vec maximum(Vec a, Vec b) { return _mm256_max_ps(a, b); }
PTLRT_INLINE Vec minimum(Vec a, Vec b) { return _mm256_min_ps(a, b); }
PTLRT_INLINE Mask firstLanes(int64_t n) {
  int count = n < 0 ? 0 : n > kLanes ? kLanes : static_cast<int>(n);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
PTLRT_INLINE Vec loadMasked(const float *p, Mask m) { return _mm256_maskload_ps(p, m); }
PTLRT_INLINE void storeMasked(float *p, Mask m, Vec x) { _mm256_maskstore_ps(p, m, x); }
PTLRT_INLINE Vec select(Mask m, Vec x, Vec y) {
  return _mm256_blendv_ps(y, x, _mm256_castsi256_ps(m));
}
PTLRT_INLINE Mask maskOfBytes(const uint8_t *p) {
  __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i *>(p));
  return _mm256_cmpgt_epi32(_mm256_cvtepu8_epi32(bytes), _mm256_setzero_si256());
}
PTLRT_INLINE Mask lessThan(Vec a, Vec b) {
  return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_LT_OQ));
}
PTLRT_INLINE Mask isNan(Vec a) { return _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q)); }
PTLRT_INLINE float sumOf(Vec x) {
  __m128 q = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  q = _mm_add_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
}
PTLRT_INLINE float maxOf(Vec x) {
  __m128 q = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  q = _mm_max_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_max_ss(q, _mm_movehdup_ps(q)));
}
PTLRT_INLINE Vec roundNearest(Vec x) {
  return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
PTLRT_INLINE Vec scalePower2(Vec x, Vec n) {
  __m256i e = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
  return _mm256_mul_ps(x, _mm256_castsi256_ps(_mm256_slli_epi32(e, 23)));
}

#endif

/// exp(x) for x <= 88, relative error 2e-7, exactly 0 below -87.3 and for minus
/// infinity; not-a-number stays. e^x = 2^n e^r with n whole and |r| <= ln(2)/2; the
/// polynomial is that of Cephes' expf, ln(2) is split in two for an exact r.
PTLRT_INLINE Vec exponential(Vec x) {
  const Vec least = splat(-87.3f);
  Mask tiny = lessThan(x, least);
  x = maximum(least, x);
  Vec n = roundNearest(x * splat(1.44269504088896341f));
  Vec r = fnma(n, splat(0.693359375f), x);
  r = fnma(n, splat(-2.12194440e-4f), r);
  Vec p = splat(1.9875691500e-4f);
  p = fma(p, r, splat(1.3981999507e-3f));
  p = fma(p, r, splat(8.3334519073e-3f));
  p = fma(p, r, splat(4.1665795894e-2f));
  p = fma(p, r, splat(1.6666665459e-1f));
  p = fma(p, r, splat(5.0000001201e-1f));
  p = fma(p, r * r, r + splat(1.0f));
  return select(tiny, zero(), scalePower2(p, n));
}

} // namespace ptlrt::cpu::PTLRT_SIMD_NAMESPACE

#endif // PTLRT_DEVICE_CPU_SIMD_VECTOR_H
