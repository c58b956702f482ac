//===- GemmTest.cpp - Matrix products against plain loops -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every form, odd sizes around the tiles and blocks, padded strides, accumulation
// and outer loops, by both back ends and both instruction sets, against f64. Memory
// between the rows of C must stay as it was, and a padding of not-a-number in A and B
// must not be read into a result.
//===----------------------------------------------------------------------===//
#include "runtime/device/cpu/Device.h"
#include "runtime/device/cpu/GemmPlans.h"
#include "test/unit/runtime/device/Random.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace ptlrt;
using namespace ptlrt::cpu;
using test::Random;

namespace {

constexpr float kUntouched = 12345.0f;

/// The offsets of the elements of the outer loops, in order.
struct Element {
  int64_t a = 0, b = 0, c = 0;
};
std::vector<Element> elementsOf(const ptlrt_gemm &d) {
  std::vector<Element> all = {{}};
  for (int i = 0; i < d.outer; ++i) {
    std::vector<Element> next;
    for (const Element &e : all)
      for (int64_t x = 0; x < d.size[i]; ++x)
        next.push_back({e.a + x * d.stride_a[i], e.b + x * d.stride_b[i], e.c + x * d.stride_c[i]});
    all = std::move(next);
  }
  return all;
}

int64_t extent(int64_t rows, int64_t cols, int64_t ld) { return rows ? (rows - 1) * ld + cols : 0; }

/// A product with its operands; memory that no element lies in holds not-a-number in
/// A and B and kUntouched in C.
struct Case {
  ptlrt_gemm d;
  std::vector<float> a, b, c;
  std::vector<double> expected, bound;
  std::vector<bool> written;

  Case(const ptlrt_gemm &desc, bool accumulate, uint32_t seed) : d(desc) {
    int64_t aSize = 0, bSize = 0, cSize = 0;
    for (const Element &e : elementsOf(d)) {
      aSize =
          std::max(aSize, e.a + (d.trans_a ? extent(d.k, d.m, d.lda) : extent(d.m, d.k, d.lda)));
      bSize =
          std::max(bSize, e.b + (d.trans_b ? extent(d.n, d.k, d.ldb) : extent(d.k, d.n, d.ldb)));
      cSize = std::max(cSize, e.c + extent(d.m, d.n, d.ldc));
    }
    a.assign(static_cast<size_t>(aSize), std::numeric_limits<float>::quiet_NaN());
    b.assign(static_cast<size_t>(bSize), std::numeric_limits<float>::quiet_NaN());
    c.assign(static_cast<size_t>(cSize), kUntouched);
    Random random(seed);
    fill(random);
    compute(accumulate);
  }

  size_t atA(const Element &e, int64_t i, int64_t k) const {
    return static_cast<size_t>(e.a + (d.trans_a ? k * d.lda + i : i * d.lda + k));
  }
  size_t atB(const Element &e, int64_t k, int64_t j) const {
    return static_cast<size_t>(e.b + (d.trans_b ? j * d.ldb + k : k * d.ldb + j));
  }
  size_t atC(const Element &e, int64_t i, int64_t j) const {
    return static_cast<size_t>(e.c + i * d.ldc + j);
  }

  void fill(Random &random) {
    written.assign(c.size(), false);
    for (const Element &e : elementsOf(d)) {
      for (int64_t i = 0; i < d.m; ++i)
        for (int64_t k = 0; k < d.k; ++k)
          a[atA(e, i, k)] = random.number();
      for (int64_t k = 0; k < d.k; ++k)
        for (int64_t j = 0; j < d.n; ++j)
          b[atB(e, k, j)] = random.number();
      for (int64_t i = 0; i < d.m; ++i)
        for (int64_t j = 0; j < d.n; ++j) {
          c[atC(e, i, j)] = random.number();
          written[atC(e, i, j)] = true;
        }
    }
  }
  void compute(bool accumulate) {
    expected.resize(c.size());
    bound.assign(c.size(), 1e-6);
    for (size_t i = 0; i < c.size(); ++i)
      expected[i] = accumulate || !written[i] ? c[i] : 0.0;
    for (const Element &e : elementsOf(d))
      for (int64_t i = 0; i < d.m; ++i)
        for (int64_t j = 0; j < d.n; ++j)
          for (int64_t k = 0; k < d.k; ++k) {
            double x = static_cast<double>(a[atA(e, i, k)]) * b[atB(e, k, j)];
            expected[atC(e, i, j)] += x;
            bound[atC(e, i, j)] += 2e-6 * std::fabs(x);
          }
  }
  void check(const std::vector<float> &result, const std::string &what) const {
    int wrong = 0;
    for (size_t i = 0; i < result.size() && wrong < 3; ++i) {
      bool good = written[i] ? std::fabs(result[i] - expected[i]) <= bound[i] : result[i] == c[i];
      if (!good) {
        ++wrong;
        ADD_FAILURE() << what << ": C[" << i << "] is " << result[i] << ", expected " << expected[i]
                      << (written[i] ? "" : " (outside of C)");
      }
    }
  }
};

ptlrt_gemm plain(int64_t m, int64_t n, int64_t k, int form, int64_t pad) {
  ptlrt_gemm d = {};
  d.m = m;
  d.n = n;
  d.k = k;
  d.trans_a = form >> 1;
  d.trans_b = form & 1;
  d.lda = (d.trans_a ? m : k) + pad;
  d.ldb = (d.trans_b ? k : n) + pad;
  d.ldc = n + pad;
  return d;
}

std::string nameOfCase(const ptlrt_gemm &d, Isa isa, GemmPolicy policy) {
  return std::string(nameOf(isa)) + (policy == GemmPolicy::Own ? " own " : " onednn ") +
         (d.trans_a ? "T" : "N") + (d.trans_b ? "T " : "N ") + std::to_string(d.m) + "x" +
         std::to_string(d.n) + "x" + std::to_string(d.k);
}

void runCase(const ptlrt_gemm &desc, bool accumulate, uint32_t seed, int threads = 1) {
  Case test(desc, accumulate, seed);
  for (Isa isa : test::usableIsas())
    for (GemmPolicy policy : {GemmPolicy::Own, GemmPolicy::OneDnn}) {
      Device device({threads, isa, policy, nullptr});
      RankContext context{&device};
      ptlrt_rank rank = {};
      rank.runtime = &context;
      std::vector<float> c = test.c;
      ptlrt_gemm_f32(&rank, &test.d, test.a.data(), test.b.data(), c.data(), accumulate);
      test.check(c, nameOfCase(desc, isa, policy));
    }
}

} // namespace

// Sizes below, at and above tile heights (6, 14) and widths (16, 32), vectors and 4s.
TEST(Gemm, AllFormsAndOddSizes) {
  uint32_t seed = 1;
  for (int form = 0; form < 4; ++form)
    for (int64_t m : {1, 5, 6, 7, 14, 15, 31})
      for (int64_t n : {1, 7, 8, 15, 16, 17, 32, 33, 50})
        for (int64_t k : {1, 3, 8, 21})
          runCase(plain(m, n, k, form, (m + n) % 3), (m + k) % 2, seed++);
}

// Beyond the blocks of k (256, 384), rows (192, 504) and columns (1024), with row strides
// that are read in place (an odd number of lines) and others.
TEST(Gemm, SeveralBlocks) {
  for (int form = 0; form < 4; ++form)
    for (int64_t pad : {3, 16}) {
      runCase(plain(37, 51, 800, form, pad), false, 7);
      runCase(plain(520, 40, 100, form, pad), true, 8);
      runCase(plain(300, 1060, 9, form, pad), false, 9);
    }
  runCase(plain(30, 80, 400, 0, 0), false, 10);
}

TEST(Gemm, EmptySizes) {
  for (int form = 0; form < 4; ++form)
    for (bool accumulate : {false, true}) {
      runCase(plain(0, 5, 3, form, 0), accumulate, 1);
      runCase(plain(5, 0, 3, form, 0), accumulate, 2);
      runCase(plain(5, 9, 0, form, 2), accumulate, 3); // overwritten by zeros, or kept
    }
}

// Batch and heads in the middle of a tensor, a shared operand, a sum over the batch.
TEST(Gemm, OuterLoops) {
  ptlrt_gemm d = plain(9, 20, 13, 0, 0);
  d.lda = 3 * 13;
  d.ldc = 3 * 20;
  d.outer = 2;
  d.size[0] = 4; // batch
  d.stride_a[0] = 9 * d.lda;
  d.stride_c[0] = 9 * d.ldc;
  d.size[1] = 3; // heads
  d.stride_a[1] = 13;
  d.stride_b[1] = 13 * d.ldb;
  d.stride_c[1] = 20;
  for (int threads : {1, 3})
    runCase(d, threads == 3, 11, threads);
  d.stride_c[0] = 0; // sums over the batch
  for (bool accumulate : {false, true})
    runCase(d, accumulate, 12, 2);
}

// A sum of no products is 0, no product at all leaves C alone.
TEST(Gemm, EmptyLoops) {
  ptlrt_gemm d = plain(3, 4, 5, 0, 0);
  d.outer = 1;
  d.stride_a[0] = 15;
  Device device({1, bestIsa(), GemmPolicy::Auto, nullptr});
  RankContext context{&device};
  ptlrt_rank rank = {};
  rank.runtime = &context;
  std::vector<float> a(15, 1.0f), b(20, 1.0f), c(12, 2.0f);
  ptlrt_gemm_f32(&rank, &d, a.data(), b.data(), c.data(), 1);
  EXPECT_EQ(c, std::vector<float>(12, 2.0f));
  ptlrt_gemm moving = d;
  moving.stride_c[0] = 12;
  ptlrt_gemm_f32(&rank, &moving, a.data(), b.data(), c.data(), 0);
  EXPECT_EQ(c, std::vector<float>(12, 2.0f));
  ptlrt_gemm_f32(&rank, &d, a.data(), b.data(), c.data(), 0);
  EXPECT_EQ(c, std::vector<float>(12, 0.0f));
}

TEST(Gemm, FoldsLoops) {
  ptlrt_gemm d = plain(8, 16, 4, 2, 0); // A [k, m], as in a weight gradient
  d.outer = 2;
  d.size[0] = 3; // tokens in batches: one long sum
  d.stride_a[0] = 4 * d.lda;
  d.stride_b[0] = 4 * d.ldb;
  d.size[1] = 1;
  ptlrt_gemm folded = foldLoops(d);
  EXPECT_EQ(folded.outer, 0);
  EXPECT_EQ(folded.k, 12);
  runCase(d, false, 14);

  d = plain(8, 16, 4, 1, 5);
  d.outer = 2;
  d.size[0] = 5; // rows of a batch times a shared weight, in two levels
  d.stride_a[0] = 3 * 8 * d.lda;
  d.stride_c[0] = 3 * 8 * d.ldc;
  d.size[1] = 3;
  d.stride_a[1] = 8 * d.lda;
  d.stride_c[1] = 8 * d.ldc;
  folded = foldLoops(d);
  EXPECT_EQ(folded.outer, 0);
  EXPECT_EQ(folded.m, 120);
  runCase(d, true, 15);

  d.stride_c[1] += 1; // doesn't continue the rows of C
  EXPECT_EQ(foldLoops(d).outer, 2);
}

// The bits don't depend on the number of threads, nor on what ran before.
TEST(Gemm, SameBitsForAnyNumberOfThreads) {
  for (GemmPolicy policy : {GemmPolicy::Own, GemmPolicy::OneDnn, GemmPolicy::Auto})
    for (int form = 0; form < 3; ++form) {
      Case test(plain(form == 2 ? 900 : 100, 800, form == 2 ? 50 : 400, form, 16), true, 3);
      std::vector<float> first;
      for (int threads : {1, 2, 3}) {
        Device device({threads, bestIsa(), policy, nullptr});
        RankContext context{&device};
        ptlrt_rank rank = {};
        rank.runtime = &context;
        for (int repeat = 0; repeat < 2; ++repeat) {
          std::vector<float> c = test.c;
          ptlrt_gemm_f32(&rank, &test.d, test.a.data(), test.b.data(), c.data(), 1);
          if (first.empty())
            first = c;
          EXPECT_EQ(first, c) << threads << " threads, form " << form;
        }
      }
      test.check(first, "threads");
    }
}

// A plan is found by the address of its descriptor, but a changed one isn't trusted.
TEST(Gemm, ReusedAddress) {
  Device device({1, bestIsa(), GemmPolicy::OneDnn, nullptr});
  RankContext context{&device};
  ptlrt_rank rank = {};
  rank.runtime = &context;
  for (int64_t m : {40, 41, 40}) {
    Case test(plain(m, 48, 36, 0, 0), false, 4);
    ptlrt_gemm d = test.d;
    static ptlrt_gemm place;
    place = d;
    std::vector<float> c = test.c;
    ptlrt_gemm_f32(&rank, &place, test.a.data(), test.b.data(), c.data(), 0);
    test.check(c, "reused");
  }
  EXPECT_NE(describe(device).find("NN 40x48x36"), std::string::npos) << describe(device);
}

TEST(Gemm, ManyPlans) {
  Device device({1, bestIsa(), GemmPolicy::Own, nullptr});
  RankContext context{&device};
  ptlrt_rank rank = {};
  rank.runtime = &context;
  Case test(plain(3, 4, 5, 0, 0), false, 5);
  std::vector<ptlrt_gemm> descs(500, test.d);
  for (int round = 0; round < 2; ++round)
    for (const ptlrt_gemm &d : descs) {
      std::vector<float> c = test.c;
      ptlrt_gemm_f32(&rank, &d, test.a.data(), test.b.data(), c.data(), 0);
      test.check(c, "many");
    }
}

// The measured choice computes the same product, once for all ranks.
TEST(Gemm, Probe) {
  auto probes = std::make_shared<GemmProbes>();
  Case test(plain(64, 96, 80, 1, 0), true, 6);
  std::string first;
  for (int r = 0; r < 2; ++r) {
    Device device({1, bestIsa(), GemmPolicy::Probe, probes});
    RankContext context{&device};
    ptlrt_rank rank = {};
    rank.runtime = &context;
    std::vector<float> c = test.c;
    ptlrt_gemm_f32(&rank, &test.d, test.a.data(), test.b.data(), c.data(), 1);
    test.check(c, "probe");
    std::string text = device.gemmPlans().describe();
    EXPECT_TRUE(first.empty() || first == text);
    first = text;
  }
}

TEST(Gemm, RuleKeepsTheLibraryFromItsTraps) {
  Product p = {256, 768, 3072, nullptr, 3088, false, nullptr, 784, false, nullptr, 784, false};
  EXPECT_EQ(chooseByRule(Isa::Avx512, p, true), GemmBackend::OneDnn);
  EXPECT_EQ(chooseByRule(Isa::Avx512, p, false), GemmBackend::Own);
  EXPECT_EQ(chooseByRule(Isa::Avx2, p, true), GemmBackend::Own);
  p.ldb = 3072; // rows 12 KiB apart
  EXPECT_EQ(chooseByRule(Isa::Avx512, p, true), GemmBackend::Own);
  p = {4, 4, 4, nullptr, 4, false, nullptr, 4, false, nullptr, 4, false};
  EXPECT_EQ(chooseByRule(Isa::Avx512, p, true), GemmBackend::Own);
}
