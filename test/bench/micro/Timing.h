//===- Timing.h - Clocks, peaks and memory of the micro benchmarks --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Machines differ and drift, so nothing here is worth anything as an absolute
// number: candidates take turns, the best of several rounds counts, and the rate of
// fused multiply-adds is measured between them.
//===----------------------------------------------------------------------===//
#ifndef PTLC_TEST_BENCH_MICRO_TIMING_H
#define PTLC_TEST_BENCH_MICRO_TIMING_H

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <sys/mman.h>

namespace ptlc::bench {

/// Seconds that the calling thread has run: time taken by other programs on its core
/// doesn't count, what they do to its caches does.
inline double threadSeconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Seconds of the clock on the wall, for what several threads do together.
inline double wallSeconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Floats in huge pages, as the arena of a program has them, filled with noise.
inline float *takeFloats(int64_t count) {
  size_t bytes = (static_cast<size_t>(count) * 4 + (2u << 20)) >> 21 << 21;
  void *p =
      mmap(nullptr, bytes + (2u << 20), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    std::abort();
  auto *f =
      reinterpret_cast<float *>((reinterpret_cast<uintptr_t>(p) + (2u << 20) - 1) >> 21 << 21);
  madvise(f, bytes, MADV_HUGEPAGE);
  uint32_t x = 1;
  for (int64_t i = 0; i < count; ++i) {
    x = x * 1664525u + 1013904223u;
    f[i] = static_cast<float>(static_cast<int32_t>(x)) * 0x1p-31f;
  }
  return f;
}

/// Row stride of a matrix in an arena: an odd number of cache lines.
inline int64_t rowStride(int64_t cols) { return 16 * ((cols + 15) / 16 | 1); }

/// GFLOP/s of independent fused multiply-adds, 8 or 16 wide, in one short burst.
double peakGflops(bool avx512);

} // namespace ptlc::bench

#endif // PTLC_TEST_BENCH_MICRO_TIMING_H
