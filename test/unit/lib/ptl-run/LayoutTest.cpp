//===- LayoutTest.cpp - Nested ceil layouts and replicas ------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "test/lib/ptl-run/Layout.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace ptlc::run;

static std::vector<int64_t> validCounts(int64_t whole, Sizes sizes) {
  std::vector<int64_t> counts;
  for (int64_t a = 0; a < sizes[0]; ++a)
    for (int64_t b = 0; b < sizes[1]; ++b)
      counts.push_back(piece(whole, sizes, {a, b}).valid);
  return counts;
}

// Shards may be short in the middle: 5 over 2x2 is 2, 1, 2, 0.
TEST(Layout, NestedCeil) {
  EXPECT_EQ(validCounts(5, {2, 2}), (std::vector<int64_t>{2, 1, 2, 0}));
  EXPECT_EQ(validCounts(8, {2, 2}), (std::vector<int64_t>{2, 2, 2, 2}));
  EXPECT_EQ(validCounts(1, {2, 2}), (std::vector<int64_t>{1, 0, 0, 0}));
  Piece last = piece(16, {3}, {2});
  EXPECT_EQ(last.start, 12);
  EXPECT_EQ(last.valid, 4);
  EXPECT_EQ(last.size, 6);
}

// The first axis of a mesh is the major one; a group's order is that of its axes as written.
TEST(Layout, GroupsInOrderOfAxes) {
  Mesh mesh{{"a", "b"}, {2, 3}};
  EXPECT_EQ(mesh.group(4, {"a"}), (llvm::SmallVector<int64_t>{1, 4}));
  EXPECT_EQ(mesh.group(0, {"b", "a"}), (llvm::SmallVector<int64_t>{0, 3, 1, 4, 2, 5}));
}

static Tensor counting(Type type) {
  std::vector<double> values(type.count());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>(i);
  return Tensor(type, values);
}

// Cut, put together: the same; padding is junk in between.
TEST(Layout, DistributeAndCollect) {
  Mesh mesh{{"dp", "tp"}, {2, 2}};
  Placement placement;
  placement.sharding.dims = {{"dp", "tp"}, {}};
  Type global{Element::F32, {"x", "y"}, {5, 2}}, local{Element::F32, {"x", "y"}, {2, 2}};
  Tensor whole = counting(global);
  llvm::SmallVector<Tensor> locals;
  for (int64_t rank = 0; rank < 4; ++rank)
    locals.push_back(llvm::cantFail(distribute(mesh, placement, whole, local, rank)));
  EXPECT_EQ(locals[2][0], 6);
  EXPECT_TRUE(std::isnan(locals[1][2]));
  EXPECT_TRUE(std::isnan(locals[3][0]));
  Tensor again = llvm::cantFail(collect(mesh, placement, locals, global));
  for (int64_t i = 0; i < 10; ++i)
    EXPECT_EQ(again[i], i);
}

// 7 rows in 2 micro-batches on 3 ranks: pieces of 4, of which a rank holds 2 each.
TEST(Layout, MicrobatchesComeFirst) {
  Mesh mesh{{"dp"}, {3}};
  Placement placement;
  placement.sharding.dims = {{"dp"}};
  placement.pieces = 2;
  placement.microDim = "batch";
  EXPECT_EQ(globalIndices(mesh, placement, "batch", 0, 7, 0), (std::vector<int64_t>{0, 1, 4, 5}));
  EXPECT_EQ(globalIndices(mesh, placement, "batch", 0, 7, 1), (std::vector<int64_t>{2, 3, 6, -1}));
  EXPECT_EQ(globalIndices(mesh, placement, "batch", 0, 7, 2),
            (std::vector<int64_t>{-1, -1, -1, -1}));
}

// Pending sums are added; replicas that differ in a bit are refused.
TEST(Layout, PendingSumsAndReplicas) {
  Mesh mesh{{"dp"}, {2}};
  Type type{Element::F32, {"x"}, {2}};
  Tensor one(type, {1, 2}), other(type, {10, 20});
  Placement pending;
  pending.sharding.dims = {{}};
  pending.sharding.partial = {"dp"};
  Tensor sum = llvm::cantFail(collect(mesh, pending, {one, other}, type));
  EXPECT_EQ(sum[1], 22);
  Placement replicated;
  auto result = collect(mesh, replicated, {one, Tensor(type, {1, 2.0000001})}, type);
  ASSERT_FALSE(static_cast<bool>(result));
  EXPECT_EQ(llvm::toString(result.takeError()).substr(0, 32), "replicas differ: element 1 of [x");
}
