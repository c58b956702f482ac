//===- GemmBench.cpp - The matrix products of training, own and oneDNN ----===//
// SPDX-License-Identifier: Apache-2.0
//
// For each shape of the benchmark models: forward X W', data gradient dY W, weight
// gradient dY' X, with the row strides of an arena. One JSON line per product: best
// GFLOP/s of each candidate and of fused multiply-adds, measured in turns.
//
//   gemm-bench [ROUNDS] [FILTER]     FILTER: part of a shape's name, e.g. 124m/dW
//===----------------------------------------------------------------------===//
#include "runtime/device/cpu/OneDnn.h"
#include "test/bench/micro/Timing.h"

#include <cstdio>
#include <string>
#include <vector>

using namespace ptlc::bench;
using namespace ptlrt::cpu;

namespace {
struct Linear {
  std::string model;
  int64_t tokens, in, out;
};
} // namespace

static std::vector<Linear> layersOf(const std::string &model, int64_t tokens, int64_t c) {
  return {{model, tokens, c, 3 * c},
          {model, tokens, c, c},
          {model, tokens, c, 4 * c},
          {model, tokens, 4 * c, c}};
}

/// form 0: X W', 1: dY W, 2: dY' X.
static Product productOf(const Linear &l, int form, const float *a, const float *b, float *c) {
  int64_t in = rowStride(l.in), out = rowStride(l.out);
  if (form == 0)
    return {l.tokens, l.out, l.in, a, in, false, b, in, true, c, out, false};
  if (form == 1)
    return {l.tokens, l.in, l.out, a, out, false, b, in, false, c, in, false};
  return {l.out, l.in, l.tokens, a, out, true, b, in, false, c, in, false};
}

static double seconds(auto &&run, int inner) {
  double start = threadSeconds();
  for (int i = 0; i < inner; ++i)
    run();
  return (threadSeconds() - start) / inner;
}

static void measure(const Linear &l, int form, int rounds, float *memory, float *scratch) {
  static const char *const kForms[] = {"fwd", "dX", "dW"};
  const Kernels &own = kernelsFor(bestIsa());
  int64_t most =
      std::max({l.tokens * rowStride(l.in), l.tokens * rowStride(l.out), l.out * rowStride(l.in)}) +
      64;
  Product p = productOf(l, form, memory, memory + most, memory + 2 * most);
  std::unique_ptr<OneDnnProduct> library = oneDnn() ? OneDnnProduct::create(*oneDnn(), p) : nullptr;
  double flops =
      2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  int inner = std::max(1, static_cast<int>(1e8 / flops));
  double best = 1e30, bestLibrary = 1e30, peak = 0;
  for (int r = 0; r < rounds; ++r) {
    best = std::min(best, seconds([&] { own.gemm(p, scratch); }, inner));
    if (library)
      bestLibrary = std::min(bestLibrary, seconds([&] { library->run(p.a, p.b, p.c); }, inner));
    peak = std::max(peak, peakGflops(own.isa == Isa::Avx512));
  }
  std::printf(
      "{\"bench\":\"gemm\",\"model\":\"%s\",\"form\":\"%s\",\"m\":%ld,\"n\":%ld,\"k\":%ld,"
      "\"own\":%.1f,\"onednn\":%.1f,\"peak\":%.1f,\"own_share\":%.3f,\"own_to_onednn\":%.3f}\n",
      l.model.c_str(), kForms[form], static_cast<long>(p.m), static_cast<long>(p.n),
      static_cast<long>(p.k), flops / best * 1e-9, library ? flops / bestLibrary * 1e-9 : 0.0, peak,
      flops / best * 1e-9 / peak, library ? bestLibrary / best : 0.0);
  std::fflush(stdout);
}

int main(int argc, char **argv) {
  int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  std::string filter = argc > 2 ? argv[2] : "";
  std::string error;
  if (!checkCpu(error)) {
    std::fprintf(stderr, "error: %s\n", error.c_str());
    return 1;
  }
  std::vector<Linear> all = layersOf("124m", 256, 768);
  for (const Linear &l : layersOf("small", 2048, 384))
    all.push_back(l);
  all.push_back({"124m", 256, 768, 50304});
  all.push_back({"small", 512, 384, 50304});
  all.push_back({"mlp", 32, 784, 128});
  all.push_back({"mlp", 32, 128, 10});
  float *memory = takeFloats(3 * (50304 * rowStride(768) + 64) + 1024);
  float *scratch = takeFloats(kernelsFor(bestIsa()).gemmScratch);
  static const char *const kForms[] = {"/fwd", "/dX", "/dW"};
  for (const Linear &l : all)
    for (int form = 0; form < 3; ++form)
      if ((l.model + kForms[form] + "/" + std::to_string(l.out)).find(filter) != std::string::npos)
        measure(l, form, rounds, memory, scratch);
}
