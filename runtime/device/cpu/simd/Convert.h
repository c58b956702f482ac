//===- Convert.h - Between bf16 and f32 ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLRT_DEVICE_CPU_SIMD_CONVERT_H
#define PTLRT_DEVICE_CPU_SIMD_CONVERT_H

#include "runtime/device/cpu/simd/Vector.h"

namespace ptlrt::cpu::PTLRT_SIMD_NAMESPACE {

/// to[i] = from[i].
static void widen(const uint16_t *from, int64_t count, float *to) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    store(to + i, loadBf16(from + i));
  if (i == count)
    return;
  uint16_t rest[kLanes] = {};
  __builtin_memcpy(rest, from + i, sizeof(uint16_t) * static_cast<size_t>(count - i));
  storeMasked(to + i, firstLanes(count - i), loadBf16(rest));
}

/// to[i] = from[i], rounded to nearest even.
static void narrow(const float *from, int64_t count, uint16_t *to) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    storeBf16(to + i, load(from + i));
  if (i == count)
    return;
  uint16_t rest[kLanes];
  storeBf16(rest, loadMasked(from + i, firstLanes(count - i)));
  __builtin_memcpy(to + i, rest, sizeof(uint16_t) * static_cast<size_t>(count - i));
}

} // namespace ptlrt::cpu::PTLRT_SIMD_NAMESPACE

#endif // PTLRT_DEVICE_CPU_SIMD_CONVERT_H
