//===- KernelsTest.cpp - Small kernels: exponential, combination ----------===//
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/Kernels.h"
#include "test/unit/runtime/device/Random.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

using namespace ptlrt::cpu;
using ptlrt::test::Random;

static std::vector<float> exponentials(Isa isa, const std::vector<float> &x) {
  std::vector<float> out(x.size(), -1.0f);
  kernelsFor(isa).exponential(x.data(), out.data(), static_cast<int64_t>(x.size()));
  return out;
}

TEST(Exponential, IsWithinTwoUnitsInTheLastPlace) {
  std::vector<float> x;
  for (float v = -87.25f; v < 88.0f; v += 0.00371f)
    x.push_back(v);
  for (Isa isa : ptlrt::test::usableIsas()) {
    std::vector<float> y = exponentials(isa, x);
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      double exact = std::exp(static_cast<double>(x[i]));
      worst = std::max(worst, std::fabs(y[i] - exact) / exact);
    }
    EXPECT_LT(worst, 2.0e-7);
    EXPECT_GT(worst, 0.0);
  }
}

TEST(Exponential, Limits) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (Isa isa : ptlrt::test::usableIsas()) {
    std::vector<float> y = exponentials(isa, {0.0f, -inf, -100.0f, -1e30f, nan});
    EXPECT_EQ(y[0], 1.0f);
    EXPECT_EQ(y[1], 0.0f);
    EXPECT_EQ(y[2], 0.0f);
    EXPECT_EQ(y[3], 0.0f);
    EXPECT_TRUE(std::isnan(y[4]));
  }
}

// All buffers get the same bits, the order is that of the buffers, the rest stays.
TEST(Combine, EveryKindAndLength) {
  for (Isa isa : ptlrt::test::usableIsas())
    for (int64_t ranks : {1, 2, 3, 5})
      for (int64_t begin : {0, 3})
        for (int64_t count : {0, 1, 15, 64, 203}) {
          Random random(5);
          std::vector<std::vector<float>> buffers;
          for (int64_t r = 0; r < ranks; ++r)
            buffers.push_back(random.numbers(begin + count + 9));
          for (Combine kind : {Combine::Sum, Combine::Maximum, Combine::Minimum}) {
            std::vector<std::vector<float>> work = buffers, expected = buffers;
            for (int64_t i = begin; i < begin + count; ++i) {
              size_t at = static_cast<size_t>(i);
              float x = buffers[0][at];
              for (int64_t r = 1; r < ranks; ++r) {
                float y = buffers[static_cast<size_t>(r)][at];
                x = kind == Combine::Sum       ? x + y
                    : kind == Combine::Maximum ? std::max(x, y)
                                               : std::min(x, y);
              }
              for (auto &buffer : expected)
                buffer[at] = x;
            }
            std::vector<float *> pointers;
            for (auto &buffer : work)
              pointers.push_back(buffer.data());
            kernelsFor(isa).combine(kind, pointers.data(), ranks, begin, begin + count);
            EXPECT_EQ(work, expected);
          }
        }
}

TEST(Combine, KeepsNotANumberOfEitherSide) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (Isa isa : ptlrt::test::usableIsas())
    for (Combine kind : {Combine::Sum, Combine::Maximum, Combine::Minimum}) {
      std::vector<float> a(70, 1.0f), b(70, 2.0f);
      a[3] = a[69] = b[5] = b[68] = nan;
      float *buffers[] = {a.data(), b.data()};
      kernelsFor(isa).combine(kind, buffers, 2, 0, 70);
      for (size_t i = 0; i < a.size(); ++i)
        EXPECT_EQ(std::isnan(a[i]), i == 3 || i == 5 || i == 68 || i == 69) << i;
    }
}

TEST(Isa, ThisMachineIsSupported) {
  std::string error;
  EXPECT_TRUE(checkCpu(error)) << error;
  EXPECT_EQ(kernelsFor(Isa::Avx2).isa, Isa::Avx2);
  EXPECT_EQ(kernelsFor(Isa::Avx512).isa, Isa::Avx512);
}

TEST(Squares, AddUpInSixteenLanesInOrder) {
  std::vector<float> x(200);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = 0.37f * static_cast<float>(i % 23) - 3.1f;
  for (Isa isa : ptlrt::test::usableIsas())
    for (int64_t count : {0, 1, 5, 16, 31, 33, 200})
      for (int64_t phase : {0, 1, 15, 16, 35}) {
        float expected[kSquareSums], sums[kSquareSums];
        for (int lane = 0; lane < kSquareSums; ++lane)
          expected[lane] = sums[lane] = static_cast<float>(lane);
        for (int64_t i = 0; i < count; ++i) {
          float &sum = expected[(phase + i) % kSquareSums];
          sum = std::fma(x[static_cast<size_t>(i)], x[static_cast<size_t>(i)], sum);
        }
        kernelsFor(isa).addSquares(x.data(), count, phase, sums);
        EXPECT_EQ(std::memcmp(sums, expected, sizeof(sums)), 0) << count << " from " << phase;
      }
}
