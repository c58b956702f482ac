//===- Bf16Test.cpp - Kernels of bf16 against those of f32 ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Widening is exact and sums are f32, so every kernel of bf16 has the bits of the
// f32 kernel on widened operands, rounded once.
//===----------------------------------------------------------------------===//
#include "runtime/core/Bfloat16.h"
#include "runtime/device/cpu/Device.h"
#include "test/unit/runtime/device/Random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace ptlrt;
using namespace ptlrt::cpu;
using test::Random;

using Halves = std::vector<uint16_t>;
using Floats = std::vector<float>;

static Floats widened(const Halves &x) {
  Floats result(x.size());
  std::transform(x.begin(), x.end(), result.begin(), fromBfloat16);
  return result;
}

static Halves rounded(const Floats &x) {
  Halves result(x.size());
  std::transform(x.begin(), x.end(), result.begin(), toBfloat16);
  return result;
}

static float power2(int exponent) { return std::ldexp(1.0f, exponent); }

TEST(Bfloat16, RoundsToNearestEven) {
  const float inf = std::numeric_limits<float>::infinity();
  auto round = [](float x) { return fromBfloat16(toBfloat16(x)); };
  // 8 bits of significand: between 1 and 2 neighbours are 2^-7 apart.
  EXPECT_EQ(round(1 + power2(-8)), 1.0f);                         // a tie: to even, down
  EXPECT_EQ(round(1 + 3 * power2(-8)), 1 + power2(-6));           // a tie: to even, up
  EXPECT_EQ(round(1 + power2(-8) + power2(-20)), 1 + power2(-7)); // just above a tie
  EXPECT_EQ(round(-1 - 3 * power2(-8)), -1 - power2(-6));
  EXPECT_EQ(round(255.5f), 256.0f); // a carry into the exponent
  EXPECT_EQ(round(std::numeric_limits<float>::max()), inf);
  EXPECT_EQ(round(255 * power2(120)), 255 * power2(120)); // the largest
  EXPECT_EQ(round(-inf), -inf);
  EXPECT_TRUE(std::signbit(round(-0.0f)));
  // Denormal numbers are kept: 2^-133 is the smallest.
  EXPECT_EQ(round(power2(-133)), power2(-133));
  EXPECT_EQ(round(power2(-134)), 0.0f);
  EXPECT_EQ(round(3 * power2(-134)), 2 * power2(-133));
  EXPECT_EQ(round(power2(-126) - power2(-149)), power2(-126));
}

TEST(Bfloat16, NotANumberStays) {
  // Payloads that rounding would carry into the exponent, or drop.
  for (uint32_t bits : {0x7f800001u, 0x7fffffffu, 0xffffffffu, 0x7fc00000u, 0xff80ffffu}) {
    uint16_t half = toBfloat16(std::bit_cast<float>(bits));
    EXPECT_TRUE(std::isnan(fromBfloat16(half))) << std::hex << bits;
    EXPECT_EQ(half >> 15, bits >> 31);
  }
}

// All instruction sets, any length, every bf16 and numbers around each.
TEST(Bfloat16, KernelsConvertAlike) {
  Halves all;
  for (uint32_t bits = 0; bits < 0x10000; ++bits)
    all.push_back(static_cast<uint16_t>(bits));
  Floats numbers;
  for (uint16_t half : all)
    for (uint32_t rest : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      numbers.push_back(std::bit_cast<float>(uint32_t(half) << 16 | rest));
  Halves expected = rounded(numbers);
  for (Isa isa : test::usableIsas()) {
    const Kernels &kernels = kernelsFor(isa);
    Floats wide(all.size());
    kernels.widen(all.data(), static_cast<int64_t>(all.size()), wide.data());
    for (size_t i = 0; i < all.size(); ++i)
      ASSERT_EQ(std::bit_cast<uint32_t>(wide[i]), uint32_t(all[i]) << 16);
    Halves half(numbers.size());
    kernels.narrow(numbers.data(), static_cast<int64_t>(numbers.size()), half.data());
    EXPECT_EQ(half, expected);
    for (int64_t count : {0, 1, 7, 9, 17, 31}) {
      Halves few(40, 0x1234);
      kernels.narrow(numbers.data() + 100, count, few.data());
      for (int64_t i = 0; i < 40; ++i)
        EXPECT_EQ(few[static_cast<size_t>(i)],
                  i < count ? expected[static_cast<size_t>(100 + i)] : 0x1234);
    }
  }
}

namespace {
struct GemmCase {
  int64_t m, n, k;
  bool transA, transB;
  int64_t summed = 1; ///< products that are added into one C
};
} // namespace

/// The product in bf16 and in f32 on the same operands; C begins with the same values.
static void compareGemm(Device &device, const GemmCase &t, bool wide, bool accumulate) {
  RankContext context{&device};
  ptlrt_rank rank = {};
  rank.runtime = &context;
  ptlrt_gemm d = {};
  d.m = t.m;
  d.n = t.n;
  d.k = t.k;
  d.trans_a = t.transA;
  d.trans_b = t.transB;
  d.lda = (t.transA ? t.m : t.k) + 5;
  d.ldb = (t.transB ? t.k : t.n) + 3;
  d.ldc = t.n + 7;
  int64_t aSize = (t.transA ? t.k : t.m) * d.lda, bSize = (t.transB ? t.n : t.k) * d.ldb;
  d.outer = 1;
  d.size[0] = t.summed;
  d.stride_a[0] = aSize + 2; // not the next k of one product
  d.stride_b[0] = bSize;
  Random random(7);
  Halves a = rounded(random.numbers(t.summed * (aSize + 2))),
         b = rounded(random.numbers(t.summed * bSize));
  Floats c = random.numbers(t.m * d.ldc), expected = c;
  ptlrt_gemm_f32(&rank, &d, widened(a).data(), widened(b).data(), expected.data(), accumulate);
  if (wide) {
    ptlrt_gemm_bf16(&rank, &d, a.data(), b.data(), c.data(), 1, accumulate);
    EXPECT_EQ(c, expected) << t.m << "x" << t.n << "x" << t.k;
    return;
  }
  Halves half = rounded(c);
  ptlrt_gemm_bf16(&rank, &d, a.data(), b.data(), half.data(), 0, 0);
  EXPECT_EQ(half, rounded(expected)) << t.m << "x" << t.n << "x" << t.k;
}

TEST(GemmBf16, HasTheBitsOfF32) {
  for (Isa isa : test::usableIsas())
    for (int threads : {1, 3}) {
      DeviceOptions options;
      options.isa = isa;
      options.threads = threads;
      options.gemm = GemmPolicy::Own;
      Device device(options);
      for (bool transA : {false, true})
        for (bool transB : {false, true})
          for (GemmCase t : {GemmCase{1, 1, 1, transA, transB},
                             {5, 17, 9, transA, transB},
                             {65, 33, 400, transA, transB},
                             {530, 70, 31, transA, transB},
                             {40, 1100, 770, transA, transB},
                             {30, 50, 20, transA, transB, 3}}) {
            compareGemm(device, t, true, false);
            compareGemm(device, t, true, true);
            compareGemm(device, t, false, false);
          }
    }
}

TEST(GemmBf16, NoTermsGiveZero) {
  Device device((DeviceOptions()));
  RankContext context{&device};
  ptlrt_rank rank = {};
  rank.runtime = &context;
  ptlrt_gemm d = {};
  d.m = 2, d.n = 3, d.lda = 1, d.ldb = 3, d.ldc = 4;
  Halves c(8, 0x3f80);
  ptlrt_gemm_bf16(&rank, &d, nullptr, nullptr, c.data(), 0, 0);
  EXPECT_EQ(c, (Halves{0, 0, 0, 0x3f80, 0, 0, 0, 0x3f80}));
}

namespace {
/// Attention with two query heads for each of three key heads, on padded rows.
struct AttentionCase {
  ptlrt_attention d = {};
  Halves q, k, v, dout;

  AttentionCase(int64_t queries, int64_t keys, int64_t depth, int64_t valueDepth) {
    constexpr int64_t kHeads = 3, kGroup = 2;
    d.queries = queries;
    d.keys = d.key_valid = keys;
    d.depth = depth;
    d.value_depth = valueDepth;
    d.causal = queries == keys;
    d.scale = 0.25f;
    d.q_row = kHeads * kGroup * depth + 3;
    d.k_row = kHeads * depth + 1;
    d.v_row = kHeads * valueDepth;
    d.o_row = kHeads * kGroup * valueDepth + 5;
    d.lse_row = 1;
    d.outer = 2;
    int64_t loops[2][6] = {
        {kHeads, kGroup * depth, depth, valueDepth, kGroup * valueDepth, kGroup * queries},
        {kGroup, depth, 0, 0, valueDepth, queries}};
    for (int i = 0; i < 2; ++i) {
      d.size[i] = loops[i][0];
      d.q_outer[i] = loops[i][1];
      d.k_outer[i] = loops[i][2];
      d.v_outer[i] = loops[i][3];
      d.o_outer[i] = loops[i][4];
      d.lse_outer[i] = loops[i][5];
    }
    Random random(3);
    q = rounded(random.numbers(queries * d.q_row));
    k = rounded(random.numbers(keys * d.k_row));
    v = rounded(random.numbers(keys * d.v_row));
    dout = rounded(random.numbers(queries * d.o_row));
  }
};
} // namespace

TEST(AttentionBf16, HasTheBitsOfF32) {
  for (Isa isa : test::usableIsas()) {
    DeviceOptions options;
    options.isa = isa;
    options.threads = 2;
    Device device(options);
    RankContext context{&device};
    ptlrt_rank rank = {};
    rank.runtime = &context;
    for (auto [queries, keys] : {std::pair<int64_t, int64_t>{1, 1}, {70, 70}, {5, 300}}) {
      AttentionCase t(queries, keys, 9, 12);
      size_t lses = static_cast<size_t>(6 * queries);
      Floats q = widened(t.q), k = widened(t.k), v = widened(t.v), dout = widened(t.dout);
      Floats out(t.dout.size(), 2), lse(lses), halfLse(lses);
      Halves halfOut = rounded(out);
      ptlrt_attention_forward(&rank, &t.d, q.data(), k.data(), v.data(), nullptr, out.data(),
                              lse.data());
      ptlrt_attention_forward_bf16(&rank, &t.d, t.q.data(), t.k.data(), t.v.data(), nullptr,
                                   halfOut.data(), halfLse.data());
      EXPECT_EQ(halfOut, rounded(out));
      EXPECT_EQ(halfLse, lse);

      out = widened(halfOut);
      Floats dq(q.size(), 2), dk(k.size(), 2), dv(v.size(), 2);
      Halves halfQ = rounded(dq), halfK = rounded(dk), halfV = rounded(dv);
      ptlrt_attention_backward(&rank, &t.d, q.data(), k.data(), v.data(), nullptr, out.data(),
                               lse.data(), dout.data(), dq.data(), dk.data(), dv.data());
      ptlrt_attention_backward_bf16(&rank, &t.d, t.q.data(), t.k.data(), t.v.data(), nullptr,
                                    halfOut.data(), lse.data(), t.dout.data(), halfQ.data(),
                                    halfK.data(), halfV.data());
      EXPECT_EQ(halfQ, rounded(dq));
      EXPECT_EQ(halfK, rounded(dk));
      EXPECT_EQ(halfV, rounded(dv));
    }
  }
}
