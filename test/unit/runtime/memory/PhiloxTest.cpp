//===- PhiloxTest.cpp - Known answers of random numbers -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The vectors of Random123 (kat_vectors), the keys' hash functions, and what
// every initial value must be.
//===----------------------------------------------------------------------===//
#include "runtime/memory/Philox.h"
#include "runtime/core/SplitMix.h"
#include "runtime/memory/Initial.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace ptlrt;

namespace {

TEST(Philox, Random123Vectors) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, KeysAreKnown) {
  EXPECT_EQ(splitMix(0), 0xe220a8397b1dcdafu);
  EXPECT_EQ(fnv1a64(""), 0xcbf29ce484222325u);
  EXPECT_EQ(fnv1a64("a"), 0xaf63dc4c8601ec8cu);
}

// Element i is word i mod 4 of block i / 4, whatever was asked before.
TEST(Philox, ElementsComeFromTheirBlocks) {
  RandomStream stream(7, "blocks.0.w");
  uint64_t mixed = splitMix(7 ^ fnv1a64("blocks.0.w"));
  PhiloxKey key{static_cast<uint32_t>(mixed), static_cast<uint32_t>(mixed >> 32)};
  PhiloxBlock block = philox({2, 0, 5, 1}, key);
  for (uint64_t i = 0; i < 4; ++i)
    EXPECT_EQ(stream.word(8 + i, (uint64_t{1} << 32) + 5), block[i]);
  EXPECT_EQ(stream.uniform(9, (uint64_t{1} << 32) + 5), (block[1] >> 8) * 0x1p-24);
}

TEST(Philox, NormalsUseWordsInPairs) {
  RandomStream stream(0, "w");
  for (uint64_t pair : {0, 1, 17}) {
    double u1 = (stream.word(2 * pair, 3) + 1.0) * 0x1p-32;
    double u2 = stream.word(2 * pair + 1, 3) * 0x1p-32;
    double radius = std::sqrt(-2 * std::log(u1));
    EXPECT_DOUBLE_EQ(stream.normal(2 * pair, 3), radius * std::cos(2 * M_PI * u2));
    EXPECT_DOUBLE_EQ(stream.normal(2 * pair + 1, 3), radius * std::sin(2 * M_PI * u2));
  }
}

// A change of generator, key or formula anywhere shows in these values.
TEST(Philox, MomentsAndBounds) {
  RandomStream stream(1, "x");
  constexpr int kCount = 20000;
  double sum = 0, squares = 0, least = 1, most = 0;
  for (int i = 0; i < kCount; ++i) {
    double normal = stream.normal(i, 0), uniform = stream.uniform(i, 0);
    sum += normal;
    squares += normal * normal;
    least = std::min(least, uniform);
    most = std::max(most, uniform);
    EXPECT_LE(std::abs(stream.truncatedNormal(i)), 2);
  }
  EXPECT_NEAR(sum / kCount, 0, 0.03);
  EXPECT_NEAR(squares / kCount, 1, 0.04);
  EXPECT_GE(least, 0);
  EXPECT_LT(most, 1);
}

TEST(Initials, Forms) {
  float value[2];
  auto first = [&](const char *kind, std::vector<double> args) {
    Expected<Initial> initial = parseInitial(kind, args);
    EXPECT_TRUE(initial.isOk()) << initial.message();
    initialValues(*initial, 3, "p", 6, 2, value);
    return value[1];
  };
  RandomStream stream(3, "p");
  EXPECT_EQ(first("zeros", {}), 0);
  EXPECT_EQ(first("ones", {}), 1);
  EXPECT_EQ(first("constant", {0.25}), 0.25f);
  EXPECT_EQ(first("normal", {0.02}), static_cast<float>(0.02 * stream.normal(7, 0)));
  EXPECT_EQ(first("uniform", {-1, 3}), static_cast<float>(-1 + 4 * stream.uniform(7, 0)));
  EXPECT_EQ(first("trunc_normal", {0.02}), static_cast<float>(0.02 * stream.truncatedNormal(7)));
  EXPECT_EQ(parseInitial("normal", {}).message(),
            "initial value 'normal' takes 1 arguments, has 0");
  EXPECT_EQ(parseInitial("zero", {}).message(), "unknown initial value 'zero'");
}

} // namespace
