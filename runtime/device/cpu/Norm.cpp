//===- Norm.cpp - Sums of squares -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Squares, of bf16 too, are summed in f32 over blocks of 256 elements of a tensor's memory,
// without the padding of its rows, and blocks exactly. In a block, lane l of 16
// adds the elements l, l + 16, … with one rounding each, then lanes are added in
// pairs at distance 8, 4, 2, 1. A part of a bucket consists of whole blocks. So
// the bits depend neither on threads nor on how gradients are split.
//===----------------------------------------------------------------------===//
#include "ptlrt/ptlrt.h"
#include "runtime/device/cpu/ExactSum.h"
#include "runtime/core/Mesh.h"
#include "runtime/device/cpu/Kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

namespace ptlrt {

static constexpr int64_t kBlock = 256;

static int64_t elementBytes(const ptlrt_segment &segment) {
  return segment.bf16 ? sizeof(uint16_t) : sizeof(float);
}

namespace {
/// What one call works on.
struct SquareSum {
  const uint8_t *arena;
  const ptlrt_segment *segments;
  int64_t count, begin, end, shift;
  ExactSum total;
  std::mutex mutex;

  /// The blocks of a segment that lie in the window.
  struct Range {
    int64_t first, last;
  };
  Range blocksOf(const ptlrt_segment &segment) const {
    int64_t bytes = segment.rows * segment.stride * elementBytes(segment);
    int64_t from = std::max(segment.offset, begin), to = std::min(segment.offset + bytes, end);
    if (from >= to)
      return {0, 0};
    int64_t blockBytes = kBlock * elementBytes(segment);
    return {(from - segment.offset) / blockBytes, ceilDivide(to - segment.offset, blockBytes)};
  }
  float sumOf(const ptlrt_segment &segment, int64_t block) const;
};
} // namespace

static float addLanes(float (&lanes)[cpu::kSquareSums]) {
  for (int distance = cpu::kSquareSums / 2; distance > 0; distance /= 2)
    for (int lane = 0; lane < distance; ++lane)
      lanes[lane] += lanes[lane + distance];
  return lanes[0];
}

float SquareSum::sumOf(const ptlrt_segment &segment, int64_t block) const {
  static const cpu::Kernels &kernels = cpu::kernelsFor(cpu::bestIsa());
  const uint8_t *data = arena + segment.offset - shift;
  float wide[kBlock];
  float lanes[cpu::kSquareSums] = {};
  int64_t first = block * kBlock, last = first + kBlock;
  for (int64_t row = first / segment.stride; row < segment.rows; ++row) {
    int64_t from = std::max(row * segment.stride, first);
    int64_t to = std::min(row * segment.stride + segment.cols, last);
    if (from < to) {
      const uint8_t *run = data + from * elementBytes(segment);
      if (segment.bf16)
        kernels.widen(reinterpret_cast<const uint16_t *>(run), to - from, wide);
      kernels.addSquares(segment.bf16 ? wide : reinterpret_cast<const float *>(run), to - from,
                         from - first, lanes);
    }
    if ((row + 1) * segment.stride >= last)
      break;
  }
  return addLanes(lanes);
}

/// The work of one launch: blocks [begin, end) of those in the window.
static void addBlocks(int64_t begin, int64_t end, void *const *buffers, const int64_t *) {
  auto &work = *static_cast<SquareSum *>(buffers[0]);
  ExactSum sum;
  int64_t position = 0; // the first block of the segment, of those in the window
  for (int64_t i = 0; i < work.count && position < end; ++i) {
    auto [first, last] = work.blocksOf(work.segments[i]);
    int64_t from = std::max(first, first + begin - position);
    int64_t to = std::min(last, first + end - position);
    for (int64_t block = from; block < to; ++block)
      sum.add(work.sumOf(work.segments[i], block));
    position += last - first;
  }
  std::scoped_lock lock(work.mutex);
  work.total.add(sum);
}

static ExactSum addSquares(ptlrt_rank *rank, const void *arena, const ptlrt_segment *segments,
                           int64_t count, int64_t begin, int64_t end, int64_t shift) {
  SquareSum work{static_cast<const uint8_t *>(arena), segments, count, begin, end, shift, {}, {}};
  int64_t blocks = 0;
  for (int64_t i = 0; i < count; ++i) {
    auto [first, last] = work.blocksOf(segments[i]);
    blocks += last - first;
  }
  void *buffers[] = {&work};
  constexpr int64_t kGrain = 256;
  ptlrt_launch(rank, addBlocks, blocks, kGrain, buffers, nullptr);
  work.total.carry();
  return work.total;
}

static float rootOf(ExactSum &sum) {
  sum.carry();
  return static_cast<float>(std::sqrt(sum.value()));
}

} // namespace ptlrt

using namespace ptlrt;

extern "C" void ptlrt_global_norm(ptlrt_rank *rank, void *arena, const ptlrt_segment *segments,
                                  int64_t count, float *out) {
  ExactSum sum =
      addSquares(rank, arena, segments, count, 0, std::numeric_limits<int64_t>::max(), 0);
  *out = rootOf(sum);
}

extern "C" void ptlrt_square_sum(ptlrt_rank *rank, void *arena, const ptlrt_segment *segments,
                                 int64_t count, int64_t begin, int64_t end, int64_t shift,
                                 int64_t *sum, int32_t add) {
  ExactSum found = addSquares(rank, arena, segments, count, begin, end, shift);
  for (int i = 0; i < ExactSum::kSize; ++i)
    sum[i] = (add ? sum[i] : 0) + found.digits[i];
}

extern "C" void ptlrt_root(ptlrt_rank *, const int64_t *const *sums, int64_t count, float *out) {
  ExactSum total;
  for (int64_t s = 0; s < count; ++s)
    for (int i = 0; i < ExactSum::kSize; ++i)
      total.digits[i] += sums[s][i];
  *out = rootOf(total);
}
