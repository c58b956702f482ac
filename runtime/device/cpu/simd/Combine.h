//===- Combine.h - Element-wise combination of several buffers ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The inner loop of an all-reduce in one address space: each rank combines its
// slice of all buffers in the order of the buffers and writes the result to all of
// them while it is in a register, so every byte is read once and written once.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_DEVICE_CPU_SIMD_COMBINE_H
#define PTLRT_DEVICE_CPU_SIMD_COMBINE_H

#include "runtime/device/cpu/Kernels.h"
#include "runtime/device/cpu/simd/Vector.h"

namespace ptlrt::cpu::PTLRT_SIMD_NAMESPACE {

/// Not-a-number on either side stays.
template <Combine kind> PTLRT_INLINE Vec combineTwo(Vec a, Vec b) {
  if constexpr (kind == Combine::Sum)
    return a + b;
  else if constexpr (kind == Combine::Maximum)
    return select(isNan(a), a, maximum(a, b));
  else
    return select(isNan(a), a, minimum(a, b));
}

template <Combine kind>
static void combineKind(float *const *buffers, int64_t count, int64_t begin, int64_t end) {
  constexpr int64_t kStep = 4 * kLanes;
  int64_t i = begin;
  for (; i + kStep <= end; i += kStep) {
    Vec x[4];
    for (int u = 0; u < 4; ++u)
      x[u] = load(buffers[0] + i + u * kLanes);
    for (int64_t b = 1; b < count; ++b)
      for (int u = 0; u < 4; ++u)
        x[u] = combineTwo<kind>(x[u], load(buffers[b] + i + u * kLanes));
    for (int64_t b = 0; b < count; ++b)
      for (int u = 0; u < 4; ++u)
        store(buffers[b] + i + u * kLanes, x[u]);
  }
  for (; i < end; i += kLanes) {
    Mask valid = firstLanes(end - i);
    Vec x = loadMasked(buffers[0] + i, valid);
    for (int64_t b = 1; b < count; ++b)
      x = combineTwo<kind>(x, loadMasked(buffers[b] + i, valid));
    for (int64_t b = 0; b < count; ++b)
      storeMasked(buffers[b] + i, valid, x);
  }
}

static void combine(Combine kind, float *const *buffers, int64_t count, int64_t begin,
                    int64_t end) {
  switch (kind) {
  case Combine::Sum:
    return combineKind<Combine::Sum>(buffers, count, begin, end);
  case Combine::Maximum:
    return combineKind<Combine::Maximum>(buffers, count, begin, end);
  case Combine::Minimum:
    return combineKind<Combine::Minimum>(buffers, count, begin, end);
  }
}

} // namespace ptlrt::cpu::PTLRT_SIMD_NAMESPACE

#endif // PTLRT_DEVICE_CPU_SIMD_COMBINE_H
