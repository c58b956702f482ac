//===- Squares.h - Sums of squares in a fixed order ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sixteen sums whatever the width of a vector, so that every instruction set
// gets the same bits.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_DEVICE_CPU_SIMD_SQUARES_H
#define PTLRT_DEVICE_CPU_SIMD_SQUARES_H

#include "runtime/device/cpu/Kernels.h"
#include "runtime/device/cpu/simd/Vector.h"

namespace ptlrt::cpu::PTLRT_SIMD_NAMESPACE {

/// Adds the square of x[i] to sums[(phase + i) % 16], i ascending.
static void addSquares(const float *x, int64_t count, int64_t phase, float *sums) {
  constexpr int64_t kVectors = kSquareSums / kLanes;
  for (; count > 0 && phase % kSquareSums != 0; --count, ++phase, ++x)
    sums[phase % kSquareSums] = __builtin_fmaf(*x, *x, sums[phase % kSquareSums]);
  Vec lanes[kVectors];
  for (int64_t v = 0; v < kVectors; ++v)
    lanes[v] = load(sums + v * kLanes);
  for (; count >= kSquareSums; count -= kSquareSums, x += kSquareSums)
    for (int64_t v = 0; v < kVectors; ++v) {
      Vec value = load(x + v * kLanes);
      lanes[v] = fma(value, value, lanes[v]);
    }
  for (int64_t v = 0; v < kVectors; ++v)
    store(sums + v * kLanes, lanes[v]);
  for (int64_t i = 0; i < count; ++i)
    sums[i] = __builtin_fmaf(x[i], x[i], sums[i]);
}

} // namespace ptlrt::cpu::PTLRT_SIMD_NAMESPACE

#endif // PTLRT_DEVICE_CPU_SIMD_SQUARES_H
