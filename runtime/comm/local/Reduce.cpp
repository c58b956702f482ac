//===- Reduce.cpp - Combining the same elements of several buffers --------===//
// SPDX-License-Identifier: Apache-2.0
//
// One block at a time is combined in the first-level cache and then stored to
// all, so each buffer is read and written once. Along an axis always ((b0 + b1) +
// b2) + …: the order of the sum is that of the ranks, whoever computes it.
//===----------------------------------------------------------------------===//
#include "runtime/comm/local/Reduce.h"

#include "runtime/core/Bfloat16.h"
#include <algorithm>
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

namespace {
/// An element that is combined as f32.
struct Half {
  uint16_t bits;
  operator float() const { return fromBfloat16(bits); }
};
} // namespace

/// A NaN on either side stays: comparison alone would lose one in `a`.
template <ReduceKind kind> static float combineFloat(float a, float b) {
  if constexpr (kind == ReduceKind::Sum)
    return a + b;
  else
    return a != a ? a : combine<kind>(a, b);
}

template <ReduceKind kind, typename T, typename From>
static void combineRuns(T *sum, const From *other, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    if constexpr (std::is_same_v<T, float>)
      sum[i] = combineFloat<kind>(sum[i], other[i]);
    else
      sum[i] = combine<kind>(sum[i], other[i]);
}

/// Sums of bf16 are rounded once per axis, so that one axis after the other may be summed by a
/// collective of its own.
template <typename From, typename T> static void roundRun(T *sum, int64_t count) {
  if constexpr (std::is_same_v<From, Half>)
    for (int64_t i = 0; i < count; ++i)
      sum[i] = fromBfloat16(toBfloat16(sum[i]));
}

template <ReduceKind kind, typename From, typename T>
static void foldAxes(std::span<const int64_t> sizes, std::span<uint8_t *const> buffers, T *sum,
                     int64_t count) {
  if (sizes.size() < 2) {
    std::copy_n(reinterpret_cast<const From *>(buffers[0]), count, sum);
    for (uint8_t *other : buffers.subspan(1))
      combineRuns<kind>(sum, reinterpret_cast<const From *>(other), count);
    return roundRun<From>(sum, count);
  }
  size_t inner = buffers.size() / static_cast<size_t>(sizes[0]);
  foldAxes<kind, From>(sizes.subspan(1), buffers.first(inner), sum, count);
  for (size_t begin = inner; begin < buffers.size(); begin += inner) {
    T part[kReduceBlock];
    foldAxes<kind, From>(sizes.subspan(1), buffers.subspan(begin, inner), part, count);
    combineRuns<kind>(sum, part, count);
  }
  roundRun<From>(sum, count);
}

template <ReduceKind kind, typename T>
static void reduceTyped(std::span<const int64_t> sizes, std::span<uint8_t *const> buffers,
                        std::span<uint8_t *const> results, int64_t count) {
  T sum[kReduceBlock];
  foldAxes<kind, T>(sizes, buffers, sum, count);
  for (uint8_t *result : results)
    std::memcpy(result, sum, count * sizeof(T));
}

/// Sums in f32, rounded once per axis.
template <ReduceKind kind>
static void reduceBfloat16(std::span<const int64_t> sizes, std::span<uint8_t *const> buffers,
                           std::span<uint8_t *const> results, int64_t count) {
  float sum[kReduceBlock];
  uint16_t rounded[kReduceBlock];
  foldAxes<kind, Half>(sizes, buffers, sum, count);
  for (int64_t i = 0; i < count; ++i)
    rounded[i] = toBfloat16(sum[i]);
  for (uint8_t *result : results)
    std::memcpy(result, rounded, count * sizeof(uint16_t));
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
  case Element::BF16:
    return reduceBfloat16<kind>(sizes, buffers, results, count);
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
