//===- ExactSumTest.cpp - Sums without rounding ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/device/cpu/ExactSum.h"

#include <cmath>
#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

using namespace ptlrt;

namespace {

ExactSum sumOf(const std::vector<float> &values) {
  ExactSum sum;
  for (float value : values)
    sum.add(value);
  sum.carry();
  return sum;
}

// Powers of two from the least denormal number to the largest, alone and together.
TEST(ExactSum, EveryExponent) {
  for (int exponent = -149; exponent < 128; ++exponent) {
    auto value = static_cast<float>(std::ldexp(1.0, exponent));
    EXPECT_EQ(sumOf({value}).value(), value) << exponent;
  }
  EXPECT_EQ(sumOf({0.0f, -0.0f}).value(), 0);
  float largest = std::numeric_limits<float>::max();
  EXPECT_EQ(sumOf({largest, largest, largest}).value(), 3.0 * largest);
}

// A small number isn't lost beside large ones: 2^100 + 2^-100 has more digits than a double.
TEST(ExactSum, KeepsSmallNumbers) {
  ExactSum large = sumOf({0x1p100f}), both = sumOf({0x1p100f, 0x1p-100f});
  EXPECT_NE(std::vector(both.digits, both.digits + ExactSum::kSize),
            std::vector(large.digits, large.digits + ExactSum::kSize));
  EXPECT_EQ(both.value(), 0x1p100);
}

// The digits of a sum don't depend on its order, nor on how it is divided.
TEST(ExactSum, AnyOrder) {
  std::mt19937 random(7);
  std::vector<float> values(3000);
  for (float &value : values)
    value = std::ldexp(static_cast<float>(random() >> 8), static_cast<int>(random() % 100) - 80);
  ExactSum once = sumOf(values), parts;
  std::shuffle(values.begin(), values.end(), random);
  for (size_t begin = 0; begin < values.size(); begin += 700)
    parts.add(
        sumOf({values.begin() + static_cast<ptrdiff_t>(begin),
               values.begin() + static_cast<ptrdiff_t>(std::min(begin + 700, values.size()))}));
  parts.carry();
  for (int i = 0; i < ExactSum::kSize; ++i)
    EXPECT_EQ(once.digits[i], parts.digits[i]);
}

TEST(ExactSum, WhatIsNotFinite) {
  float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(sumOf({1, infinity, 2}).value(), infinity);
  EXPECT_TRUE(std::isnan(sumOf({infinity, std::nanf(""), 1}).value()));
}

} // namespace
