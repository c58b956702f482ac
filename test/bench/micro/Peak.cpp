//===- Peak.cpp - The rate of fused multiply-adds -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Twelve independent chains, enough for two units of latency 4 to 6.
//===----------------------------------------------------------------------===//
#include "test/bench/micro/Timing.h"

#include <immintrin.h>

namespace ptlc::bench {

static constexpr int64_t kTurns = 400'000;

__attribute__((target("avx2,fma"))) static float burst256() {
  __m256 x[12];
  for (__m256 &v : x)
    v = _mm256_set1_ps(1.0f);
  __m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
  for (int64_t i = 0; i < kTurns; ++i)
    for (__m256 &v : x) {
      v = _mm256_fmadd_ps(v, a, b);
      asm("" : "+x"(v));
    }
  float sum = 0;
  for (__m256 v : x)
    sum += _mm256_cvtss_f32(v);
  return sum;
}

__attribute__((target("avx512f"))) static float burst512() {
  __m512 x[12];
  for (__m512 &v : x)
    v = _mm512_set1_ps(1.0f);
  __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
  for (int64_t i = 0; i < kTurns; ++i)
    for (__m512 &v : x) {
      v = _mm512_fmadd_ps(v, a, b);
      asm("" : "+v"(v));
    }
  float sum = 0;
  for (__m512 v : x)
    sum += _mm512_cvtss_f32(v);
  return sum;
}

double peakGflops(bool avx512) {
  double start = threadSeconds();
  float sum = avx512 ? burst512() : burst256();
  double seconds = threadSeconds() - start;
  asm volatile("" : : "r"(&sum) : "memory");
  return 12.0 * 2 * (avx512 ? 16 : 8) * kTurns / seconds * 1e-9;
}

} // namespace ptlc::bench
