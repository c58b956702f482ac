//===- AttentionBench.cpp - Attention alone -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Causal self-attention of the benchmark models on one thread, q, k and v side by
// side in one tensor. A JSON line per shape: milliseconds of a layer, GFLOP/s of the
// visible half of the scores, and their share of the fused multiply-add peak.
//
//   attention-bench [ROUNDS]
//===----------------------------------------------------------------------===//
#include "ptlrt/ptlrt.h"
#include "runtime/device/cpu/Isa.h"
#include "test/bench/micro/Timing.h"

#include <cstdio>

using namespace ptlc::bench;

namespace {
struct Shape {
  const char *model;
  int64_t batch, heads, seq, depth;
};
} // namespace

static ptlrt_attention describe(const Shape &s) {
  int64_t channels = s.heads * s.depth, row = rowStride(3 * channels), out = rowStride(channels);
  ptlrt_attention d = {};
  d.queries = d.keys = d.key_valid = s.seq;
  d.depth = d.value_depth = s.depth;
  d.causal = 1;
  d.scale = 0.125f;
  d.outer = 2;
  const int64_t sizes[] = {s.batch, s.heads}, qkv[] = {s.seq * row, s.depth},
                o[] = {s.seq * out, s.depth}, lse[] = {s.heads * s.seq, s.seq};
  for (int i = 0; i < 2; ++i) {
    d.size[i] = sizes[i];
    d.q_outer[i] = d.k_outer[i] = d.v_outer[i] = qkv[i];
    d.o_outer[i] = o[i];
    d.lse_outer[i] = lse[i];
  }
  d.q_row = d.k_row = d.v_row = row;
  d.o_row = out;
  d.lse_row = 1;
  return d;
}

static void measure(const Shape &s, int rounds) {
  ptlrt_attention d = describe(s);
  int64_t channels = s.heads * s.depth, tokens = s.batch * s.seq;
  float *qkv = takeFloats(tokens * d.q_row), *grad = takeFloats(tokens * d.q_row);
  float *out = takeFloats(tokens * d.o_row), *dout = takeFloats(tokens * d.o_row);
  float *lse = takeFloats(s.heads * tokens);
  ptlrt_rank rank = {};
  double forward = 1e30, backward = 1e30, peak = 0;
  for (int r = 0; r < rounds; ++r) {
    double t0 = threadSeconds();
    ptlrt_attention_forward(&rank, &d, qkv, qkv + channels, qkv + 2 * channels, nullptr, out, lse);
    double t1 = threadSeconds();
    ptlrt_attention_backward(&rank, &d, qkv, qkv + channels, qkv + 2 * channels, nullptr, out, lse,
                             dout, grad, grad + channels, grad + 2 * channels);
    double t2 = threadSeconds();
    forward = std::min(forward, t1 - t0);
    backward = std::min(backward, t2 - t1);
    peak = std::max(peak, peakGflops(ptlrt::cpu::bestIsa() == ptlrt::cpu::Isa::Avx512));
  }
  double half = static_cast<double>(tokens * s.seq * channels) * 2e-9; // of one product
  std::printf("{\"bench\":\"attention\",\"model\":\"%s\",\"seq\":%ld,\"forward_ms\":%.3f,"
              "\"backward_ms\":%.3f,\"forward_gflops\":%.1f,\"backward_gflops\":%.1f,"
              "\"forward_share\":%.3f,\"backward_share\":%.3f,\"peak\":%.1f}\n",
              s.model, static_cast<long>(s.seq), forward * 1e3, backward * 1e3, half / forward,
              2.5 * half / backward, half / forward / peak, 2.5 * half / backward / peak, peak);
  std::fflush(stdout);
}

int main(int argc, char **argv) {
  int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
  for (const Shape &s :
       {Shape{"124m", 4, 12, 64, 64}, Shape{"char", 8, 6, 256, 64}, Shape{"long", 1, 12, 1024, 64}})
    measure(s, rounds);
}
