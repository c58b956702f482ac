//===- Reduce.cpp - Combining the same elements of several buffers --------===//
// SPDX-License-Identifier: Apache-2.0
//
// One block at a time is combined in the first-level cache and then stored to
// all, so each buffer is read and written once. Along an axis always ((b0 + b1) +
// b2) + …: the order of the sum is that of the ranks, whoever computes it.
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
static void combineRuns(T *sum, const T *other, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if constexpr (std::is_same_v<T, float>)
      sum[i] = combineFloat<kind>(sum[i], other[i]);
    else
      sum[i] = combine<kind>(sum[i], other[i]);
}

template <ReduceKind kind, typename T>
static void foldAxes(std::span<const int64_t> sizes, std::span<uint8_t *const> buffers, T *sum,
                     int64_t count) {
  if (sizes.size() < 2) {
    std::memcpy(sum, buffers[0], count * sizeof(T));
    for (uint8_t *other : buffers.subspan(1))
      combineRuns<kind>(sum, reinterpret_cast<const T *>(other), count);
    return;
  }
  size_t inner = buffers.size() / static_cast<size_t>(sizes[0]);
  foldAxes<kind>(sizes.subspan(1), buffers.first(inner), sum, count);
  for (size_t begin = inner; begin < buffers.size(); begin += inner) {
    T part[kReduceBlock];
    foldAxes<kind>(sizes.subspan(1), buffers.subspan(begin, inner), part, count);
    combineRuns<kind>(sum, part, count);
  }
}

template <ReduceKind kind, typename T>
static void reduceTyped(std::span<const int64_t> sizes, std::span<uint8_t *const> buffers,
                        std::span<uint8_t *const> results, int64_t count) {
  T sum[kReduceBlock];
  foldAxes<kind>(sizes, buffers, sum, count);
  for (uint8_t *result : results)
    std::memcpy(result, sum, count * sizeof(T));
}

template <ReduceKind kind>
static void reduceKind(Element element, std::span<const int64_t> sizes,
                       std::span<uint8_t *const> buffers, std::span<uint8_t *const> results,
                       int64_t count) {
  switch (element) {
  case Element::F32:
    return reduceTyped<kind, float>(sizes, buffers, results, count);
  case Element::I32:
    return reduceTyped<kind, int32_t>(sizes, buffers, results, count);
  case Element::I64:
    return reduceTyped<kind, int64_t>(sizes, buffers, results, count);
  case Element::Byte:
    return reduceTyped<kind, uint8_t>(sizes, buffers, results, count);
  }
}

void reduceBlock(ReduceKind kind, Element element, std::span<const int64_t> sizes,
                 std::span<uint8_t *const> buffers, std::span<uint8_t *const> results,
                 int64_t count) {
  switch (kind) {
  case ReduceKind::Sum:
    return reduceKind<ReduceKind::Sum>(element, sizes, buffers, results, count);
  case ReduceKind::Max:
    return reduceKind<ReduceKind::Max>(element, sizes, buffers, results, count);
  case ReduceKind::Min:
    return reduceKind<ReduceKind::Min>(element, sizes, buffers, results, count);
  }
}

} // namespace ptlrt
