//===- GemmChoice.cpp - Our own kernel or oneDNN --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Both are within a few per cent of each other on most products, and two runs of a
// measurement may differ in who wins, so the choice of a run would depend on the
// neighbours of the machine and with it the last bits of a loss. The default is
// therefore a rule made from measurements beforehand (test/bench/micro); measuring
// at first use is an option for those who want the last per cent.
//===----------------------------------------------------------------------===//
#include "runtime/device/cpu/GemmChoice.h"

#include "runtime/device/cpu/OneDnn.h"
#include "runtime/device/cpu/Scratch.h"
#include <algorithm>
#include <chrono>
#include <vector>

namespace ptlrt::cpu {

const char *nameOf(GemmBackend backend) { return backend == GemmBackend::Own ? "own" : "onednn"; }

/// Below this many multiply-adds a call of the library costs more than it gains.
static constexpr double kSmallProduct = 1e6;

GemmBackend chooseByRule(Isa isa, const Product &p, bool haveLibrary) {
  double size = static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  if (!haveLibrary || size < kSmallProduct)
    return GemmBackend::Own;
  // With AVX2 ours is the faster one, the more so since what the library computes must be
  // cut into pieces of a fixed size (see GemmPlans).
  if (isa == Isa::Avx2)
    return GemmBackend::Own;
  // The library reads B in place; rows that are a multiple of a page apart fall into
  // one set of the cache and cost it half of its speed.
  if (p.ldb % 1024 == 0 || p.lda % 1024 == 0)
    return GemmBackend::Own;
  // The forward product, whose B is transposed, is where packing pays.
  return p.transB ? GemmBackend::Own : GemmBackend::OneDnn;
}

static double secondsOf(auto &&run) {
  auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

static Bf16Probe measureBf16() {
  const OneDnnLibrary *library = oneDnn();
  if (!__builtin_cpu_supports("avx512bf16"))
    return {false, "matrix products are computed in f32, since this CPU has no instructions for "
                   "products of bf16"};
  constexpr int64_t kSize = 512;
  constexpr int kRounds = 4; // the first one warms up
  constexpr double kOperations = 2.0 * kSize * kSize * kSize;
  std::vector<uint16_t> a(kSize * kSize, 0x3f80), b = a, c = a;
  int64_t first = 0;
  HalfProduct own = {kSize, kSize,    kSize, a.data(), kSize, false, b.data(), kSize,
                     false, c.data(), kSize, false,    false, 1,     &first,   &first};
  Product sizes = {kSize,   kSize, kSize, nullptr, kSize, false,
                   nullptr, kSize, false, nullptr, kSize, false};
  auto other = library ? OneDnnProduct::create(*library, sizes, GemmTypes::Bf16) : nullptr;
  if (!other)
    return {false,
            "matrix products are computed in f32: " + describeOneDnn() + " has none of bf16 here"};
  const Kernels &kernels = kernelsFor(bestIsa());
  Scratch scratch;
  float *memory = scratch.take(kernels.gemmBf16Scratch);
  double best[2] = {1e30, 1e30};
  for (int round = 0; round < kRounds; ++round) {
    double ours = secondsOf([&] { kernels.gemmBf16(own, memory); });
    double theirs = secondsOf([&] { other->run(a.data(), b.data(), c.data()); });
    if (round == 0)
      continue;
    best[0] = std::min(best[0], ours);
    best[1] = std::min(best[1], theirs);
  }
  auto rate = [&](double seconds) {
    return std::to_string(static_cast<int>(kOperations / seconds / 1e9));
  };
  bool libraryWins = best[1] < best[0];
  return {libraryWins, std::string("matrix products are computed in ") +
                           (libraryWins ? "bf16 by oneDNN" : "f32") + ": here " + rate(best[0]) +
                           " GFLOP/s in f32, " + rate(best[1]) + " in bf16 by oneDNN"};
}

const Bf16Probe &probeBf16() {
  static const Bf16Probe probe = measureBf16();
  return probe;
}

GemmBackend GemmProbes::faster(const Kernels &kernels, const Product &p, float *scratch) {
  constexpr int kRounds = 4;        // the first one warms up
  constexpr double kTooLong = 2e10; // multiply-adds: some tenths of a second a turn
  std::lock_guard<std::mutex> lock(mutex);
  Key key = {p.m, p.n, p.k, p.lda, p.ldb, p.ldc, p.transA, p.transB, p.accumulate};
  auto found = known.find(key);
  if (found != known.end())
    return found->second;
  const OneDnnLibrary *library = oneDnn();
  GemmBackend rule = chooseByRule(kernels.isa, p, library != nullptr);
  double size = static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  std::unique_ptr<OneDnnProduct> other = library ? OneDnnProduct::create(*library, p) : nullptr;
  if (!other || size > kTooLong)
    return known[key] = other ? rule : GemmBackend::Own;
  Scratch result;
  Product own = p;
  own.c = result.take(p.m * p.ldc);
  std::fill(own.c, own.c + p.m * p.ldc, 0.0f);
  double best[2] = {1e30, 1e30};
  for (int round = 0; round < kRounds; ++round) {
    double ours = secondsOf([&] { kernels.gemm(own, scratch); });
    double theirs = secondsOf([&] { other->run(own.a, own.b, own.c); });
    if (round == 0)
      continue;
    best[0] = std::min(best[0], ours);
    best[1] = std::min(best[1], theirs);
  }
  return known[key] = best[0] <= best[1] ? GemmBackend::Own : GemmBackend::OneDnn;
}

} // namespace ptlrt::cpu
