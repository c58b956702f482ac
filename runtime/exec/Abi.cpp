//===- Abi.cpp - What generated code calls: collectives and the norm ------===//
// SPDX-License-Identifier: Apache-2.0
//
// The global norm sums squares in f32 over blocks of 1024 elements of the
// segments' concatenation (padding left out), and blocks in f64, in order. In a
// block, lane l of 16 adds the elements l, l + 16, … with one rounding each, then
// lanes are added in pairs at distance 8, 4, 2, 1: one fixed order that is also a
// vector loop, so the bits depend on neither layout nor threads.
//===----------------------------------------------------------------------===//
#include "runtime/device/cpu/Kernels.h"
#include "runtime/exec/RankState.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ptlrt {

static constexpr int64_t kNormBlock = 1024;

static float addLanes(float (&lanes)[cpu::kSquareSums]) {
  for (int distance = cpu::kSquareSums / 2; distance > 0; distance /= 2)
    for (int lane = 0; lane < distance; ++lane)
      lanes[lane] += lanes[lane + distance];
  return lanes[0];
}

/// The work of one launch: blocks [begin, end) of the concatenated segments.
static void normKernel(int64_t begin, int64_t end, void *const *buffers, const int64_t *scalars) {
  const auto *arena = static_cast<const uint8_t *>(buffers[0]);
  const auto *segments = static_cast<const ptlrt_segment *>(buffers[1]);
  auto *sums = static_cast<float *>(buffers[2]);
  int64_t count = scalars[0], segment = 0, position = 0;
  auto addSquares = cpu::kernelsFor(cpu::bestIsa()).addSquares;
  // `position` is the first element of `segment` in the concatenation.
  for (int64_t block = begin; block < end; ++block) {
    float lanes[cpu::kSquareSums] = {};
    int64_t filled = 0;
    while (filled < kNormBlock && segment < count) {
      const ptlrt_segment &s = segments[segment];
      int64_t from = block * kNormBlock + filled - position, elements = s.rows * s.cols;
      if (from >= elements) {
        position += elements;
        ++segment;
        continue;
      }
      int64_t part = std::min(kNormBlock - filled, elements - from);
      forEachPart({s.offset, s.rows, s.cols, s.stride}, 4, from, part,
                  [&](int64_t offset, int64_t n) {
                    addSquares(reinterpret_cast<const float *>(arena + offset), n, filled, lanes);
                    filled += n;
                  });
    }
    sums[block] = addLanes(lanes);
  }
}

/// Runs the collective; false after an error, which is then in the state.
static bool runCollective(RankState &state, int32_t index) {
  int64_t begin = state.trace.now();
  Status status = state.comm->run(index);
  state.trace.add(TraceKind::Collective, index, begin);
  if (status.isOk())
    return true;
  state.error = std::move(status);
  return false;
}

/// Sends and receives; false after an error, which is then in the state.
static bool runExchange(RankState &state, const ExchangePorts &ports) {
  Status status = state.comm->post(ports.send, 0);
  if (status.isOk())
    status = state.comm->post(ports.receive, 0);
  for (int port : {ports.receive, ports.send})
    if (status.isOk())
      status = state.comm->finish(port, 0);
  if (status.isOk())
    return true;
  state.error = std::move(status);
  return false;
}

} // namespace ptlrt

using namespace ptlrt;

extern "C" void ptlrt_collective(ptlrt_rank *rank, void *, int32_t index) {
  RankState &state = stateOf(rank);
  if (!runCollective(state, index))
    state.leave();
}

extern "C" void ptlrt_exchange(ptlrt_rank *rank, void *, int32_t index) {
  RankState &state = stateOf(rank);
  if (!runExchange(state, state.play->exchange(index)))
    state.leave();
}

extern "C" void ptlrt_global_norm(ptlrt_rank *rank, void *arena, const ptlrt_segment *segments,
                                  int64_t count, float *out) {
  int64_t elements = 0;
  for (int64_t i = 0; i < count; ++i)
    elements += segments[i].rows * segments[i].cols;
  int64_t blocks = ceilDivide(elements, kNormBlock);
  std::vector<float> &sums = stateOf(rank).normBlocks;
  if (static_cast<int64_t>(sums.size()) < blocks)
    sums.resize(blocks); // in the first step only
  void *buffers[] = {arena, const_cast<ptlrt_segment *>(segments), sums.data()};
  int64_t scalars[] = {count};
  constexpr int64_t kGrain = 64;
  ptlrt_launch(rank, normKernel, blocks, kGrain, buffers, scalars);
  double total = 0;
  for (int64_t block = 0; block < blocks; ++block)
    total += sums[block];
  *out = static_cast<float>(std::sqrt(total));
}
