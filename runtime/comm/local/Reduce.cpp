//===- Reduce.cpp - Combining the same elements of several buffers --------===//
// SPDX-License-Identifier: Apache-2.0
//
// One block at a time is combined in the first-level cache and then stored to
// all, so each buffer is read and written once. Always ((b0 + b1) + b2) + …: the
// order of the sum is that of the ranks, whoever computes it.
//===----------------------------------------------------------------------===//
#include "runtime/comm/local/Reduce.h"

#include <cstring>

namespace ptlrt {

template <ReduceKind kind, typename T> static T combine(T a, T b) {
  if constexpr (kind == ReduceKind::Sum)
    return a + b;
  else if constexpr (kind == ReduceKind::Max)
    return a > b ? a : b;
  else
    return a < b ? a : b;
}

/// A NaN on either side stays: comparison alone would lose one in `a`.
template <ReduceKind kind> static float combineFloat(float a, float b) {
  if constexpr (kind == ReduceKind::Sum)
    return a + b;
  else
    return a != a ? a : combine<kind>(a, b);
}

template <ReduceKind kind, typename T>
static void reduceTyped(std::span<uint8_t *const> buffers, std::span<uint8_t *const> results,
                        int64_t count) {
  T sum[kReduceBlock];
  std::memcpy(sum, buffers[0], count * sizeof(T));
  for (size_t b = 1; b < buffers.size(); ++b) {
    const T *other = reinterpret_cast<const T *>(buffers[b]);
    for (int64_t i = 0; i < count; ++i)
      if constexpr (std::is_same_v<T, float>)
        sum[i] = combineFloat<kind>(sum[i], other[i]);
      else
        sum[i] = combine<kind>(sum[i], other[i]);
  }
  for (uint8_t *result : results)
    std::memcpy(result, sum, count * sizeof(T));
}

template <ReduceKind kind>
static void reduceKind(Element element, std::span<uint8_t *const> buffers,
                       std::span<uint8_t *const> results, int64_t count) {
  switch (element) {
  case Element::F32:
    return reduceTyped<kind, float>(buffers, results, count);
  case Element::I32:
    return reduceTyped<kind, int32_t>(buffers, results, count);
  case Element::I64:
    return reduceTyped<kind, int64_t>(buffers, results, count);
  case Element::Byte:
    return reduceTyped<kind, uint8_t>(buffers, results, count);
  }
}

void reduceBlock(ReduceKind kind, Element element, std::span<uint8_t *const> buffers,
                 std::span<uint8_t *const> results, int64_t count) {
  switch (kind) {
  case ReduceKind::Sum:
    return reduceKind<ReduceKind::Sum>(element, buffers, results, count);
  case ReduceKind::Max:
    return reduceKind<ReduceKind::Max>(element, buffers, results, count);
  case ReduceKind::Min:
    return reduceKind<ReduceKind::Min>(element, buffers, results, count);
  }
}

} // namespace ptlrt
