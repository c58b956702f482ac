//===- NormTest.cpp - Norms of whole and of split tensors -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "ptlrt/ptlrt.h"
#include "runtime/core/Bfloat16.h"
#include "runtime/device/Device.h"
#include "runtime/device/cpu/Device.h"
#include "test/unit/runtime/device/Random.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

using namespace ptlrt;

namespace {

constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

/// Three tensors of a bucket, each at a multiple of 1024 bytes; the padding of rows is junk.
class Norm : public ::testing::Test {
protected:
  Norm() : bucket(kElements, 1e30f) {
    for (const ptlrt_segment &s : segments)
      for (int64_t r = 0; r < s.rows; ++r)
        for (int64_t c = 0; c < s.cols; ++c) {
          float value = std::sin(static_cast<float>(++count));
          bucket[s.offset / 4 + r * s.stride + c] = value;
          expected += static_cast<double>(value) * value;
        }
  }
  float norm(const std::vector<float> &memory) {
    float result = 0;
    ptlrt_global_norm(nullptr, const_cast<float *>(memory.data()), segments.data(),
                      static_cast<int64_t>(segments.size()), &result);
    return result;
  }
  std::vector<int64_t> sum(const float *memory, int64_t begin, int64_t end, int64_t shift) {
    std::vector<int64_t> digits(PTLRT_SUM_DIGITS);
    ptlrt_square_sum(nullptr, const_cast<float *>(memory), segments.data(),
                     static_cast<int64_t>(segments.size()), begin, end, shift, digits.data(), 0);
    return digits;
  }

  static constexpr int64_t kElements = 4 * 256 * 4;
  std::vector<ptlrt_segment> segments = {{0, 10, 33, 48}, {2048, 1, 300, 300}, {4096, 3, 500, 592}};
  std::vector<float> bucket;
  int count = 0;
  double expected = 0;
};

TEST_F(Norm, LeavesPaddingOut) {
  EXPECT_NEAR(norm(bucket), std::sqrt(expected), 1e-6 * std::sqrt(expected));
}

// In bf16 a tensor has the norm, to the bit, of the same values in f32; so have its parts.
TEST_F(Norm, WidensHalves) {
  std::vector<uint16_t> halves(bucket.size());
  std::vector<float> wide(bucket.size());
  for (size_t i = 0; i < bucket.size(); ++i) {
    halves[i] = toBfloat16(bucket[i]);
    wide[i] = fromBfloat16(halves[i]);
  }
  float expectedNorm = norm(wide);
  std::vector<int64_t> firstPart = sum(wide.data(), 0, 4 * 256 * 5, 0);
  for (ptlrt_segment &segment : segments) {
    segment.offset /= 2;
    segment.bf16 = 1;
  }
  float found = 0;
  ptlrt_global_norm(nullptr, halves.data(), segments.data(), static_cast<int64_t>(segments.size()),
                    &found);
  EXPECT_EQ(found, expectedNorm);
  std::vector<int64_t> digits(PTLRT_SUM_DIGITS);
  ptlrt_square_sum(nullptr, halves.data(), segments.data(), static_cast<int64_t>(segments.size()),
                   0, 2 * 256 * 5, 0, digits.data(), 0);
  EXPECT_EQ(digits, firstPart);
}

// Parts of 4, 5 and 16 blocks, in place or packed: the sums of the parts have the root of the
// whole.
TEST_F(Norm, PartsHaveTheSameBits) {
  float whole = norm(bucket);
  for (int64_t part : {4096, 5120, 16384})
    for (bool packed : {false, true}) {
      std::vector<std::vector<int64_t>> sums;
      std::vector<const int64_t *> places;
      for (int64_t begin = 0; begin < kElements * 4; begin += part) {
        std::vector<float> own(part / 4, 1e30f);
        std::memcpy(own.data(), bucket.data() + begin / 4, std::min(part, kElements * 4 - begin));
        sums.push_back(
            sum(packed ? own.data() : bucket.data(), begin, begin + part, packed ? begin : 0));
      }
      for (const std::vector<int64_t> &digits : sums)
        places.push_back(digits.data());
      float root = 0;
      ptlrt_root(nullptr, places.data(), static_cast<int64_t>(places.size()), &root);
      EXPECT_EQ(root, whole) << part << (packed ? " packed" : "");
    }
}

TEST_F(Norm, SumsAddUp) {
  std::vector<int64_t> digits = sum(bucket.data(), 0, 4096, 0);
  ptlrt_square_sum(nullptr, bucket.data(), segments.data(), 3, 4096, kAll, 0, digits.data(), 1);
  const int64_t *place = digits.data();
  float root = 0;
  ptlrt_root(nullptr, &place, 1, &root);
  EXPECT_EQ(root, norm(bucket));
}

} // namespace
