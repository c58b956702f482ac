//===- ComparisonTest.cpp - What counts as a difference -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/exec/Comparison.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace ptlrt;

namespace {

TensorSource sourceOf(const std::vector<float> &values) {
  return {
      "x", {static_cast<int64_t>(values.size())}, [values](int64_t begin, int64_t n, float *to) {
        std::copy_n(values.begin() + begin, n, to);
        return Status::ok();
      }};
}

TEST(Comparison, Distances) {
  const float kNan = std::nanf(""), kInf = HUGE_VALF;
  auto distance = [](std::vector<float> a, std::vector<float> b) {
    return *measureDistance(sourceOf(a), sourceOf(b));
  };
  EXPECT_EQ(distance({1, -3, 2}, {1, -4, 2}).difference, 1);
  EXPECT_EQ(distance({1, -3, 2}, {1, -4, 2}).largest, 4);
  EXPECT_EQ(distance({kNan, kInf, 1}, {kNan, kInf, 1}).difference, 0);
  EXPECT_EQ(distance({kNan, 1}, {0, 1}).difference, HUGE_VAL);
  EXPECT_EQ(distance({0, 1}, {kNan, 1}).difference, HUGE_VAL);
  EXPECT_EQ(distance({kInf}, {-kInf}).difference, HUGE_VAL);
  EXPECT_EQ(distance({}, {}).difference, 0);
}

// Tensors are read in several chunks.
TEST(Comparison, FirstBeyond) {
  std::vector<float> a(200'000, 1), b = a;
  b[150'000] = 1.5F;
  b[150'001] = 3;
  auto first = *findBeyond(sourceOf(a), sourceOf(b), 0.1);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->element, 150'000);
  EXPECT_EQ(first->second, 1.5F);
  EXPECT_EQ((*findBeyond(sourceOf(a), sourceOf(b), 0.5))->element, 150'001);
  EXPECT_FALSE(*findBeyond(sourceOf(a), sourceOf(b), 2));
}

// Padding may differ, signs of zero may not.
TEST(Comparison, Replicas) {
  Mesh mesh({{"dp", 2}, {"tp", 2}});
  TensorInfo tensor{"w", Element::F32, {3, 3}, {"a", "b"}, {{}, {1}}, {}, {}};
  Storage storage{{64, 3, 2, 4}, {}}; // each row has two elements and two of padding
  std::vector<float> first(12), second(12);
  auto compare = [&](int rank) {
    return compareReplicas(tensor, storage, mesh, rank, reinterpret_cast<uint8_t *>(first.data()),
                           reinterpret_cast<uint8_t *>(second.data()));
  };
  EXPECT_EQ(heldBytes(storage, 4, mesh, 0).bytes, 40);
  first[2] = first[3] = 1;
  first[5] = 1; // the second column of rank 3's piece, which holds one
  EXPECT_FALSE(compare(3));
  ASSERT_TRUE(compare(2));
  EXPECT_EQ(indexOf(compare(2)->element, tensor.shape), "[1, 1]");
  first[5] = -0.0F;
  EXPECT_TRUE(compare(2));
}

// Ranks hold the same if they agree on the axes that cut the tensor and on those that split its
// bucket.
TEST(Comparison, FirstHolders) {
  Mesh mesh({{"dp", 2}, {"tp", 2}});
  TensorInfo cut{"w", Element::F32, {4}, {"a"}, {{1}}, {}, {}},
      whole{"b", Element::F32, {4}, {"a"}, {}, {}, {}};
  std::vector<Holder> same, split;
  for (int rank = 0; rank < 4; ++rank) {
    same.push_back({rank, {}});
    split.push_back({rank, {{}, {0, 8, true, {0}}}});
  }
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(firstHolder(same, cut, mesh, rank), rank % 2);
    EXPECT_EQ(firstHolder(same, whole, mesh, rank), 0);
    EXPECT_EQ(firstHolder(split, cut, mesh, rank), rank);
    EXPECT_EQ(firstHolder(split, whole, mesh, rank), rank / 2 * 2);
  }
}

} // namespace
