//===- FakeProgram.cpp - A compiled program written by hand ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// loss = mean((x w + b - y)^2), metric mae. Each rank sums over its rows in
// ascending order, divided by the global count; one all-reduce finishes loss,
// metric and gradients.
//===----------------------------------------------------------------------===//
#include "test/unit/runtime/exec/FakeProgram.h"

#include "runtime/core/Mesh.h"
#include <cmath>

using nlohmann::json;

namespace ptlrt::test {

static const FakeOptions *current = nullptr;

static constexpr int64_t kMomentumW = 256, kMomentumB = 320, kLr = 384, kMomentum = 388,
                         kLoss = 448, kMae = 452, kNorm = 456, kDivisor = 460, kX = 512;
static constexpr int64_t kXStride = 4;

namespace {
/// The buffers of one rank.
struct Buffers {
  explicit Buffers(void *memory) : base(static_cast<char *>(memory)) {}
  float *at(int64_t offset) const { return reinterpret_cast<float *>(base + offset); }
  char *base;
};
} // namespace

static int64_t blockRows(int64_t microbatches) {
  int64_t sizes[] = {microbatches, current->dp};
  return pieceLength(current->batch, sizes);
}
static int64_t yOffset() {
  return kX + 4 * kXStride * current->microbatches * blockRows(current->microbatches);
}
static int64_t kOffset() {
  return yOffset() + 64 + 4 * current->microbatches * blockRows(current->microbatches);
}

/// Adds the rows of one block; without gradients if `forward`.
static void addRows(ptlrt_rank *rank, void *arena, int64_t micro, int64_t microbatches,
                    bool forward) {
  Buffers buffers(arena);
  int64_t sizes[] = {microbatches, current->dp}, coordinates[] = {micro, rank->coords[0]};
  Extent extent = pieceExtent(current->batch, sizes, coordinates);
  float divisor = *buffers.at(kDivisor);
  const float *w = buffers.at(kFakeW), *b = buffers.at(kFakeB);
  float *gradW = buffers.at(kFakeGradW), *gradB = buffers.at(kFakeGradB);
  for (int64_t i = 0; i < extent.valid && extent.start + i < rank->valid; ++i) {
    int64_t row = micro * blockRows(microbatches) + i;
    const float *x = buffers.at(kX) + row * kXStride;
    float error = x[0] * w[0] + x[1] * w[1] + x[2] * w[2] + *b - buffers.at(yOffset())[row];
    *buffers.at(kLoss) += error * error / divisor;
    *buffers.at(kMae) += std::abs(error) / divisor;
    for (int d = 0; d < 3 && !forward; ++d)
      gradW[d] += 2 * error * x[d] / divisor;
    *gradB += forward ? 0 : 2 * error / divisor;
  }
}

static void count(ptlrt_rank *rank, void *arena, int64_t) {
  if (current->onStep)
    current->onStep(*rank);
  Buffers buffers(arena);
  *buffers.at(kDivisor) = static_cast<float>(rank->valid);
  *buffers.at(kLoss) = *buffers.at(kMae) = *buffers.at(kFakeGradB) = 0;
  std::fill_n(buffers.at(kFakeGradW), 3, 0.0f);
}

static void forwardBackward(ptlrt_rank *rank, void *arena, int64_t micro) {
  addRows(rank, arena, micro, current->microbatches, false);
}

static void reduce(ptlrt_rank *rank, void *arena, int64_t) {
  if (!current->overlap)
    return ptlrt_collective(rank, arena, 0);
  ptlrt_collective_start(rank, arena, 0);
  ptlrt_collective_progress(rank);
  ptlrt_collective_wait(rank, arena, 0);
}

static void norm(ptlrt_rank *rank, void *arena, int64_t) {
  static constexpr ptlrt_segment kSegments[] = {{kFakeGradW, 1, 3, 3}, {kFakeGradB, 1, 1, 1}};
  ptlrt_global_norm(rank, arena, kSegments, 2, Buffers(arena).at(kNorm));
}

static void update(ptlrt_rank *, void *arena, int64_t) {
  Buffers buffers(arena);
  float lr = *buffers.at(kLr), momentum = *buffers.at(kMomentum);
  auto apply = [&](float *weight, float *gradient, float *state, int n) {
    for (int i = 0; i < n; ++i) {
      state[i] = momentum * state[i] + gradient[i];
      weight[i] -= lr * state[i];
    }
  };
  apply(buffers.at(kFakeW), buffers.at(kFakeGradW), buffers.at(kMomentumW), 3);
  apply(buffers.at(kFakeB), buffers.at(kFakeGradB), buffers.at(kMomentumB), 1);
}

static void evaluate(ptlrt_rank *rank, void *arena, int64_t) {
  count(rank, arena, 0);
  addRows(rank, arena, 0, 1, true);
  ptlrt_collective(rank, arena, 1);
}

static constexpr ptlrt_stage_fn kFunctions[] = {count, forwardBackward, reduce,
                                                norm,  update,          evaluate};

static json layout(int64_t offset, int64_t rows, int64_t cols, int64_t stride) {
  return {{"offset", offset}, {"rows", rows}, {"cols", cols}, {"stride", stride}};
}

static json fields(const FakeOptions &options, int64_t microbatches) {
  int64_t rows = microbatches * blockRows(microbatches);
  json batch = json::array({"dp"});
  auto file = [&](const char *name) { return options.folder + "/" + name; };
  return {{{"name", "x"},
           {"file", file("x.npy")},
           {"type", "f32"},
           {"shape", {options.batch, 3}},
           {"dims", {"batch", "in"}},
           {"sharding", {batch, json::array()}},
           {"layout", layout(kX, rows, 3, kXStride)}},
          {{"name", "y"},
           {"file", file("y.npy")},
           {"type", "f32"},
           {"shape", {options.batch}},
           {"dims", {"batch"}},
           {"sharding", json::array({batch})},
           {"layout", layout(yOffset(), 1, rows, rows)}},
          {{"name", "k"},
           {"file", file("k.npy")},
           {"type", "i32"},
           {"shape", {options.batch}},
           {"dims", {"batch"}},
           {"sharding", json::array({batch})},
           {"limit", 10},
           {"layout", layout(kOffset(), 1, rows, rows)}}};
}

static json weight(const char *path, json shape, int64_t offset, int64_t grad, int64_t state) {
  int64_t n = shape.empty() ? 1 : shape[0].get<int64_t>();
  return {{"path", path},
          {"shape", shape},
          {"init", {{"kind", "normal"}, {"args", {0.5}}}},
          {"layout", layout(offset, 1, n, n)},
          {"grad", layout(grad, 1, n, n)},
          {"states", {{{"name", "momentum"}, {"layout", layout(state, 1, n, n)}}}}};
}

FakeProgram::FakeProgram(const FakeOptions &options) {
  current = &options;
  json loss = layout(kLoss, 1, 2, 2);
  metadata = {
      {"model", "Line"},
      {"source", "line.ptl"},
      {"compiler", "by hand"},
      {"mesh", {{{"name", "dp"}, {"size", options.dp}}}},
      {"arena",
       {{"bytes", kOffset() + 64 + 4 * options.microbatches * blockRows(options.microbatches)}}},
      {"weights",
       {weight("w", {3}, kFakeW, kFakeGradW, kMomentumW),
        weight("b", json::array(), kFakeB, kFakeGradB, kMomentumB)}},
      {"data",
       {{"kind", "npy"},
        {"tail", options.tail},
        {"shuffle", options.shuffle},
        {"line", "line.ptl:9:3"},
        {"fields", fields(options, options.microbatches)}}},
      {"batch", options.batch},
      {"microbatches", options.microbatches},
      {"steps", options.steps},
      {"seed", 5},
      {"hypers",
       {{{"name", "lr"}, {"value", 0.05}, {"offset", kLr}, {"scheduled", true}},
        {{"name", "momentum"}, {"value", 0.9}, {"offset", kMomentum}}}},
      {"schedule", {{"kind", "warmup_linear"}, {"warmup", 2}, {"total", 6}, {"min_lr", 0.01}}},
      {"outputs",
       {{"loss", kLoss}, {"grad_norm", kNorm}, {"metrics", {{{"name", "mae"}, {"offset", kMae}}}}}},
      {"collectives",
       {{{"kind", "all_reduce"},
         {"axes", {"dp"}},
         {"line", "line.ptl:5:7"},
         {"reason", "the batch is cut"},
         {"overlaps", options.overlap},
         {"bytes", 2.0 * 24 * (options.dp - 1) / options.dp},
         {"segments", {layout(kFakeGradW, 1, 3, 3), layout(kFakeGradB, 1, 1, 1), loss}}},
        {{"kind", "all_reduce"}, {"axes", {"dp"}}, {"segments", {loss}}}}}};
  table.push_back({PTLRT_OP_COUNT, 0, 0, 0});
  for (int64_t micro = 0; micro < options.microbatches; ++micro)
    table.push_back({PTLRT_OP_FB, 0, 1, micro});
  table.push_back({PTLRT_OP_REDUCE, 0, 2, 0});
  table.push_back({PTLRT_OP_NORM, 0, 3, 0});
  table.push_back({PTLRT_OP_OPT, 0, 4, 0});
}

FakeProgram::~FakeProgram() { current = nullptr; }

const ptlrt_program_t &FakeProgram::descriptor() {
  text = metadata.dump();
  program = {PTLRT_MAGIC,  PTLRT_ABI_VERSION, 0,          text.data(),          text.size(),
             table.data(), table.size(),      kFunctions, std::size(kFunctions)};
  return program;
}

} // namespace ptlrt::test
