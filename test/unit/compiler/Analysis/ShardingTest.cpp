//===- ShardingTest.cpp - Layouts and factors -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Sharding/Factors.h"
#include <gtest/gtest.h>

using namespace ptlc;
using namespace ptlc::sharding;

namespace {

constexpr AxisId kX = 0, kY = 1;

Mesh twoByTwo() {
  llvm::SmallVector<Axis, 4> axes;
  axes.push_back({"x", 2});
  axes.push_back({"y", 2});
  return Mesh(axes);
}

TEST(Layout, NestedCeilLeavesShortShardsInTheMiddle) {
  Mesh mesh = twoByTwo();
  // 5 over 2: blocks of 3; each over 2: blocks of 2. Valid parts 2, 1, 2, 0.
  auto extents = allExtents(mesh, 5, {kX, kY});
  ASSERT_EQ(extents.size(), 4u);
  EXPECT_EQ(extents[0], (Extent{0, 2}));
  EXPECT_EQ(extents[1], (Extent{2, 1}));
  EXPECT_EQ(extents[2], (Extent{3, 2}));
  EXPECT_EQ(extents[3], (Extent{5, 0}));
  EXPECT_EQ(localLength(mesh, 5, {kX, kY}), 2);
  EXPECT_TRUE(isUneven(mesh, 5, {kX}));
  EXPECT_FALSE(isUneven(mesh, 6, {kX}));
}

/// embed = (heads, hdim), heads major.
ShardingRule splitRule(int64_t heads, int64_t hdim) {
  ShardingRule rule;
  rule.factors.push_back({mlir::StringAttr(), heads, FactorKind::Pass});
  rule.factors.push_back({mlir::StringAttr(), hdim, FactorKind::Pass});
  rule.operands.push_back({{0, 1}});
  rule.results.push_back({{0}, {1}});
  return rule;
}

TEST(Factors, AnAxisGoesToTheMinorFactorOnlyWhenTheMajorIsUsedUp) {
  Mesh mesh = twoByTwo();
  ShardingRule rule = splitRule(2, 4);
  Assignment assignment(2);
  project(mesh, rule, {kX, kY}, {0, 1}, assignment);
  EXPECT_EQ(assignment[0], AxisList{kX});
  EXPECT_EQ(assignment[1], AxisList{kY});
  EXPECT_EQ(unproject(mesh, rule, assignment, {0, 1}), (AxisList{kX, kY}));
}

TEST(Factors, ACompoundThatIsNotLocalStaysWhole) {
  Mesh mesh = twoByTwo();
  ShardingRule rule = splitRule(3, 4);
  Assignment assignment(2);
  project(mesh, rule, {kX}, {0, 1}, assignment);
  EXPECT_TRUE(assignment[0].empty());
  EXPECT_TRUE(assignment[1].empty());
}

TEST(Factors, PendingSumsPassLinearOperationsOnly) {
  ShardingRule rule;
  rule.linearity = Linearity::All;
  rule.linearOperands = {0, 1};
  EXPECT_TRUE(mayPass(rule, {true, true}));
  EXPECT_FALSE(mayPass(rule, {true, false}));
  rule.linearity = Linearity::One;
  EXPECT_TRUE(mayPass(rule, {true, false}));
  EXPECT_FALSE(mayPass(rule, {true, true}));
  rule.linearity = Linearity::None;
  EXPECT_FALSE(mayPass(rule, {true, false}));
}

} // namespace
