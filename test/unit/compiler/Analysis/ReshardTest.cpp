//===- ReshardTest.cpp - Plans from one sharding to another ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Expected numbers are worked out by hand in the comments: bytes are those that a
// rank receives, with 4-byte elements; y is a slow axis (weight 4, latency 256), x
// a fast one (1, 64). Inputs/reshard.txt holds the optimum between all shardings of
// small tensors on small meshes, as found by an independent search.
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Sharding/Reshard.h"

#include "llvm/ADT/StringExtras.h"
#include <fstream>
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

/// All pairs of one tensor and mesh.
struct Case {
  Mesh mesh;
  llvm::SmallVector<int64_t> shape;
  std::vector<std::string> targets;
};

/// "x=2:fast y=3:slow"
Mesh parseMesh(llvm::StringRef text) {
  llvm::SmallVector<Axis, 4> axes;
  for (llvm::StringRef axis : llvm::split(text, ' ')) {
    auto [name, rest] = axis.split('=');
    auto [size, link] = rest.split(':');
    Axis parsed{name.str(), 0, 1, 64};
    EXPECT_FALSE(size.getAsInteger(10, parsed.size));
    if (link == "slow")
      parsed.weight = 4, parsed.latency = 256;
    axes.push_back(parsed);
  }
  return Mesh(axes);
}

AxisList parseAxes(const Mesh &mesh, llvm::StringRef text, char separator) {
  AxisList list;
  for (llvm::StringRef name : llvm::split(text.trim("()"), separator))
    if (int axis = mesh.find(name); axis >= 0)
      list.push_back(axis);
  return list;
}

/// "[(x y),-] sum{z}"
Sharding parseSharding(const Mesh &mesh, llvm::StringRef text) {
  auto [dims, pending] = text.split(" sum");
  Sharding sharding;
  for (llvm::StringRef dim : llvm::split(dims.trim("[]"), ','))
    sharding.dims.push_back(parseAxes(mesh, dim, ' '));
  sharding.partial = setOf(parseAxes(mesh, pending.trim("{}"), ','));
  return sharding;
}

struct Counts {
  size_t pairs = 0;
  size_t lighter = 0; ///< of equal cost and steps as in the table, with fewer bytes
  size_t greedy = 0;  ///< that the greedy plan does as well
};

/// Compares one row of the table with the planner.
void checkRow(const Case &test, ReshardPlanner &planner, llvm::StringRef text, Counts &counts) {
  auto [name, row] = text.split(": ");
  Sharding source = parseSharding(test.mesh, name);
  size_t column = 0;
  for (llvm::StringRef entry : llvm::split(row, ' ')) {
    int64_t bytes = 0, cost = 0;
    auto [first, second] = entry.split('/');
    EXPECT_FALSE(first.getAsInteger(10, bytes) || second.getAsInteger(10, cost));
    Sharding target = parseSharding(test.mesh, test.targets[column]);
    const Plan &plan = planner.plan(test.shape, source, target);
    EXPECT_EQ(costOf(plan), cost) << name.str() << " -> " << test.targets[column];
    EXPECT_LE(bytesOf(plan), bytes) << name.str() << " -> " << test.targets[column];
    counts.lighter += bytesOf(plan) < bytes;
    double greedy = costOf(greedyPlan(Stepper(test.mesh, test.shape, 4), source, target));
    EXPECT_GE(greedy, cost) << name.str() << " -> " << test.targets[column];
    counts.greedy += greedy == cost;
    counts.pairs++;
    column++;
  }
  EXPECT_EQ(column, test.targets.size());
}

TEST(Reshard, IsTheOptimumBetweenAllShardings) {
  std::ifstream file(PTLC_RESHARD_TABLE);
  ASSERT_TRUE(file.is_open());
  Case test;
  std::unique_ptr<ReshardPlanner> planner;
  Counts counts;
  for (std::string line; std::getline(file, line);) {
    auto [word, rest] = llvm::StringRef(line).split(' ');
    if (word == "mesh") {
      test.mesh = parseMesh(rest);
      planner = std::make_unique<ReshardPlanner>(test.mesh);
    } else if (word == "shape") {
      test.shape.clear();
      for (llvm::StringRef size : llvm::split(rest, ' '))
        ASSERT_FALSE(size.getAsInteger(10, test.shape.emplace_back()));
    } else if (word == "targets") {
      test.targets.clear();
      for (llvm::StringRef name : llvm::split(rest, "; "))
        test.targets.push_back(name.str());
    } else if (word == "from") {
      checkRow(test, *planner, rest, counts);
    }
  }
  EXPECT_EQ(counts.pairs, 16988u);
  EXPECT_EQ(counts.lighter, 10u);
  EXPECT_GT(counts.greedy, counts.pairs * 4 / 10);
}

TEST(Reshard, FoldsWhatIsPendingByItsKind) {
  ReshardPlanner planner(twoByTwo());
  Sharding source = make({{}, {}}, axisBit(kX)), target = make({{kX}, {}});
  source.kind = Fold::Max;
  const Plan &plan = planner.plan({8, 4}, source, target);
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_EQ(plan[0].kind, StepKind::ReduceScatter);
  EXPECT_EQ(plan[0].source.kind, Fold::Max);
  // A maximum can't stay pending where a sum should be: it is folded, then kept in one place.
  Sharding sum = make({{}, {}}, axisBit(kX));
  const Plan &other = planner.plan({8, 4}, source, sum);
  ASSERT_EQ(other.size(), 2u);
  EXPECT_EQ(other[0].kind, StepKind::AllReduce);
  EXPECT_EQ(other[1].kind, StepKind::Mask);
  EXPECT_EQ(other[1].target.kind, Fold::Sum);
}

TEST(Reshard, GreedyPlansBoundLargeMeshes) {
  llvm::SmallVector<Axis, 4> axes;
  for (const char *name : {"a", "b", "c", "d", "e", "f"})
    axes.push_back({name, 2, axes.size() == 5 ? 4.0 : 1.0, axes.size() == 5 ? 256.0 : 64.0});
  Mesh mesh(axes);
  ReshardPlanner planner(mesh);
  llvm::SmallVector<int64_t> shape = {64, 64, 64};
  Sharding source = make({{0, 1}, {2}, {}}, axisBit(3) | axisBit(5));
  Sharding target = make({{2}, {1, 0}, {5}}, 0);
  const Plan &plan = planner.plan(shape, source, target);
  EXPECT_LE(costOf(plan), costOf(greedyPlan(Stepper(mesh, shape, 4), source, target)));
  ASSERT_FALSE(plan.empty());
  EXPECT_EQ(plan.front().source, source);
  EXPECT_EQ(plan.back().target, target);
}

TEST(Reshard, APermuteNamesTheAxesThatItCrosses) {
  llvm::SmallVector<Axis, 4> axes = {{"x", 2}, {"y", 3}, {"z", 2}, {"w", 4}};
  Mesh mesh(axes);
  // Two in the place of two: y keeps its coordinate. Four in the place of two: it doesn't.
  EXPECT_EQ(permutedAxes(mesh, make({{0, 1, 2}}), make({{2, 1, 0}})), (AxisList{0, 2}));
  EXPECT_EQ(permutedAxes(mesh, make({{0, 1, 3}}), make({{3, 1, 0}})), (AxisList{0, 1, 3}));
}

} // namespace
