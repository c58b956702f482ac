//===- RandomTest.cpp - Known answers of the random numbers ---------------===//
// SPDX-License-Identifier: Apache-2.0
#include "test/lib/ptl-run/Random.h"
#include "test/lib/ptl-run/Shapes.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace ptlc::run;
using Words = std::array<uint32_t, 4>;

// The vectors that the authors of Philox publish for philox4x32-10.
TEST(Random, PhiloxKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, MomentsAndRange) {
  RandomStream stream(1, "w", 0);
  double sum = 0, squares = 0, mean = 0;
  constexpr int kCount = 20000;
  for (int i = 0; i < kCount; ++i) {
    double u = stream.uniform(i), z = stream.normal(i);
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    ASSERT_LE(std::fabs(stream.truncatedNormal(i)), 2);
    mean += u / kCount;
    sum += z / kCount;
    squares += z * z / kCount;
  }
  EXPECT_NEAR(mean, 0.5, 0.01);
  EXPECT_NEAR(sum, 0, 0.03);
  EXPECT_NEAR(squares, 1, 0.03);
}

// Another seed, place or step is another stream; the same is the same.
TEST(Random, StreamsDiffer) {
  double here = RandomStream(1, "a#0", 5).uniform(9);
  EXPECT_EQ(here, RandomStream(1, "a#0", 5).uniform(9));
  EXPECT_NE(here, RandomStream(2, "a#0", 5).uniform(9));
  EXPECT_NE(here, RandomStream(1, "a#1", 5).uniform(9));
  EXPECT_NE(here, RandomStream(1, "a#0", 6).uniform(9));
}

// A shard draws the numbers that the whole has at the same places.
TEST(Random, ShardsAgreeWithTheWhole) {
  RandomStream stream(3, "p#0", 2);
  Tensor whole = random(stream, Distribution::Uniform, {Element::F32, {"x", "y"}, {5, 4}}, {});
  Tensor shard =
      random(stream, Distribution::Uniform, {Element::F32, {"x", "y"}, {3, 4}}, {{"x", 3, 2, 5}});
  for (int64_t i = 0; i < 8; ++i)
    EXPECT_EQ(shard[i], whole[12 + i]);
  for (int64_t i = 8; i < 12; ++i)
    EXPECT_TRUE(std::isnan(shard[i]));
}
