//===- ShardingTest.cpp - Layouts and reshard plans -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Expected numbers are worked out by hand in the comments: bytes are those that a
// rank receives, with 4-byte elements; y is a slow axis (weight 4, latency 256), x
// a fast one (1, 64).
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Sharding/Factors.h"
#include "compiler/Analysis/Sharding/Reshard.h"
#include <gtest/gtest.h>

using namespace ptlc;
using namespace ptlc::sharding;

namespace {

constexpr AxisId kX = 0, kY = 1;

Mesh twoByTwo() {
  llvm::SmallVector<Axis, 4> axes;
  axes.push_back({"x", 2, 1, 64});
  axes.push_back({"y", 2, 4, 256});
  return Mesh(axes);
}

Sharding make(std::initializer_list<AxisList> dims, AxisSet partial = 0) {
  Sharding sharding;
  sharding.dims.append(dims.begin(), dims.end());
  sharding.partial = partial;
  return sharding;
}

int64_t bytesOf(const Plan &plan) {
  int64_t bytes = 0;
  for (const Step &step : plan)
    bytes += step.bytes;
  return bytes;
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

TEST(Reshard, EqualShardingsNeedNothing) {
  ReshardPlanner planner(twoByTwo());
  Sharding sharding = make({{kX}, {}});
  EXPECT_TRUE(planner.plan({7, 6}, sharding, sharding).empty());
}

TEST(Reshard, GathersLevelByLevel) {
  ReshardPlanner planner(twoByTwo());
  // 7 over x, y: 2 rows of 6. Gathering y: 1 * 12 elements, 4 rows; then x: 1 * 24.
  const Plan &plan = planner.plan({7, 6}, make({{kX, kY}, {}}), make({{}, {}}));
  EXPECT_EQ(bytesOf(plan), (12 + 24) * 4);
  EXPECT_DOUBLE_EQ(planner.cost({7, 6}, make({{kX, kY}, {}}), make({{}, {}})),
                   (48 * 4 + 256) + (96 + 64));
}

TEST(Reshard, ScattersAPendingSumIntoItsTarget) {
  ReshardPlanner planner(twoByTwo());
  const Plan &plan = planner.plan({8, 4}, make({{}, {}}, axisBit(kX)), make({{kX}, {}}));
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_EQ(plan[0].kind, StepKind::ReduceScatter);
  EXPECT_EQ(plan[0].bytes, 4 * 4 * 4);
}

TEST(Reshard, AllReduceOverTheSlowAxisGoesThroughTheFastOne) {
  ReshardPlanner planner(twoByTwo());
  // Slicing over x first halves what crosses the slow link; the gather is cheap.
  const Plan &plan = planner.plan({64, 64}, make({{}, {}}, axisBit(kY)), make({{}, {}}));
  ASSERT_EQ(plan.size(), 3u);
  EXPECT_EQ(plan[0].kind, StepKind::Slice);
  EXPECT_EQ(plan[1].kind, StepKind::AllReduce);
  EXPECT_EQ(plan[2].kind, StepKind::AllGather);
}

TEST(Reshard, AllReduceOfOneAxisMovesTwiceTheBufferLessItsShare) {
  llvm::SmallVector<Axis, 4> axes;
  axes.push_back({"dp", 4, 1, 64});
  ReshardPlanner planner{Mesh(axes)};
  const Plan &plan = planner.plan({16}, make({{}}, axisBit(0)), make({{}}));
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_EQ(plan[0].bytes, 2 * 3 * (16 / 4) * 4);
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
