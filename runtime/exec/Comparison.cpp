//===- Comparison.cpp - Where two runs' numbers differ --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Tensors are read in chunks, so that a check needs little memory of its own.
//===----------------------------------------------------------------------===//
#include "runtime/exec/Comparison.h"

#include "runtime/core/Bfloat16.h"
#include <cmath>
#include <cstring>
#include <fmt/ranges.h>

namespace ptlrt {

std::string indexOf(int64_t element, std::span<const int64_t> shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0; element /= shape[d])
    index[d] = element % shape[d];
  return fmt::format("[{}]", fmt::join(index, ", "));
}

/// The bits of an element, and its value.
static std::pair<uint32_t, float> elementAt(const uint8_t *at, Element element) {
  uint32_t bits = 0;
  std::memcpy(&bits, at, elementSize(element));
  return {bits, element == Element::F32 ? std::bit_cast<float>(bits)
                                        : fromBfloat16(static_cast<uint16_t>(bits))};
}

std::optional<Difference> compareReplicas(const TensorInfo &tensor, const Storage &storage,
                                          const Mesh &mesh, int rank, const uint8_t *first,
                                          const uint8_t *second) {
  std::optional<Difference> found;
  Window window = windowOf(storage.split, mesh, rank);
  int64_t size = elementSize(tensor.element);
  int64_t begin = heldBytes(storage, size, mesh, rank).offset;
  forEachRun(pieceOf(tensor, mesh, rank), [&](Run run) {
    auto compare = [&](int64_t offset, int64_t element, int64_t count) {
      offset -= begin;
      for (int64_t i = 0; !found && i < count; ++i) {
        auto [bits, value] = elementAt(first + offset + size * i, tensor.element);
        auto [otherBits, other] = elementAt(second + offset + size * i, tensor.element);
        if (bits != otherBits)
          found = Difference{run.global + element + i, value, other};
      }
    };
    forEachHeld(storage.layout, window, size, run.local, run.count, compare);
    return !found;
  });
  return found;
}

/// Visits all elements of two tensors: `visit(element, first, second)` returns false to stop.
template <typename Visitor>
static Status forEachElement(const TensorSource &first, const TensorSource &second,
                             Visitor &&visit) {
  int64_t elements = 1;
  for (int64_t size : first.shape)
    elements *= size;
  constexpr int64_t kChunk = 1 << 16;
  std::vector<float> ones(std::min(kChunk, elements)), others(ones.size());
  for (int64_t begin = 0; begin < elements; begin += kChunk) {
    int64_t count = std::min(kChunk, elements - begin);
    PTLRT_TRY(first.read(begin, count, ones.data()));
    PTLRT_TRY(second.read(begin, count, others.data()));
    for (int64_t i = 0; i < count; ++i)
      if (!visit(begin + i, ones[i], others[i]))
        return Status::ok();
  }
  return Status::ok();
}

static double distance(float first, float second) {
  if (first == second || (std::isnan(first) && std::isnan(second)))
    return 0;
  double between = std::abs(static_cast<double>(first) - second);
  return std::isfinite(between) ? between : HUGE_VAL;
}

Expected<Distance> measureDistance(const TensorSource &first, const TensorSource &second) {
  Distance result;
  Status status = forEachElement(first, second, [&](int64_t, float one, float other) {
    if (std::isfinite(other))
      result.largest = std::max(result.largest, std::abs(static_cast<double>(other)));
    result.difference = std::max(result.difference, distance(one, other));
    return true;
  });
  if (status.isError())
    return status;
  return result;
}

Expected<std::optional<Difference>> findBeyond(const TensorSource &first,
                                               const TensorSource &second, double limit) {
  std::optional<Difference> found;
  Status status = forEachElement(first, second, [&](int64_t element, float one, float other) {
    if (distance(one, other) > limit)
      found = Difference{element, one, other};
    return !found;
  });
  if (status.isError())
    return status;
  return found;
}

} // namespace ptlrt
