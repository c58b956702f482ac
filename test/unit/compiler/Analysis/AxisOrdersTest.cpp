//===- AxisOrdersTest.cpp - Mesh axes on the links of a machine -----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Cost/AxisOrders.h"

#include "gtest/gtest.h"

using namespace ptlc::cost;

static Machine twoNodesOfFour() {
  Machine machine;
  machine.nodes = 2;
  machine.devices = 4;
  machine.intra = 300e9;
  machine.inter = 25e9;
  return machine;
}

/// Axes by their place in a list of sizes.
enum Axis : unsigned { PP, DP, TP };
static constexpr AxisMask bit(unsigned axis) { return AxisMask(1) << axis; }

TEST(AxisOrders, GroupsAndTheirNodes) {
  Machine machine = twoNodesOfFour();
  std::vector<int64_t> sizes{2, 2, 2};
  // Ranks 0 and 1; 0 and 2; 0 and 4; 0, 1, 4 and 5.
  Group inner = groupOf(machine, sizes, {PP, DP, TP}, bit(TP));
  EXPECT_EQ(std::pair(inner.size, inner.local), std::pair(2.0, 2.0));
  Group middle = groupOf(machine, sizes, {PP, TP, DP}, bit(TP));
  EXPECT_EQ(std::pair(middle.size, middle.local), std::pair(2.0, 2.0));
  Group outer = groupOf(machine, sizes, {TP, PP, DP}, bit(TP));
  EXPECT_EQ(std::pair(outer.size, outer.local), std::pair(2.0, 1.0));
  Group both = groupOf(machine, sizes, {PP, DP, TP}, bit(TP) | bit(PP));
  EXPECT_EQ(std::pair(both.size, both.local), std::pair(4.0, 2.0));
}

// The axis that moves most stays inside of nodes however the mesh is written, the next beside it.
TEST(AxisOrders, TheChattiestAxisIsInside) {
  Times times(twoNodesOfFour(), {});
  std::vector<GroupTraffic> traffic{{TransferKind::AllReduce, bit(TP), 1e9, 32},
                                    {TransferKind::AllReduce, bit(DP), 1e9, 4},
                                    {TransferKind::Permute, bit(PP), 1e8, 4}};
  std::vector<AxisOrder> orders = rankOrders(times, {2, 2, 2}, {}, {traffic});
  ASSERT_EQ(orders.size(), 6u);
  EXPECT_EQ(orders.front().axes.front(), PP);
  EXPECT_EQ(orders.front().between, 8 * 4e8);
  EXPECT_EQ(orders.front().inside, 8 * 36e9);
  // With the stages' axis inside, a sum over tensor ranks between nodes costs twelve times as much.
  EXPECT_EQ(orders.back().axes.front(), TP);
  EXPECT_GT(orders.back().seconds, 5 * orders.front().seconds);
  for (const AxisOrder &order : orders)
    EXPECT_EQ(order.inside + order.between, 8 * 36.4e9);
}

TEST(AxisOrders, WhatIsGivenStaysOutermost) {
  Times times(twoNodesOfFour(), {});
  std::vector<GroupTraffic> traffic{{TransferKind::AllGather, bit(TP), 1e9, 32},
                                    {TransferKind::AllToAll, bit(DP), 1e9, 4}};
  std::vector<AxisOrder> orders = rankOrders(times, {2, 2, 2}, {TP}, {traffic});
  ASSERT_EQ(orders.size(), 2u);
  for (const AxisOrder &order : orders)
    EXPECT_EQ(order.axes.front(), TP);
}

// Of equal orders the one as written.
TEST(AxisOrders, TiesKeepTheMesh) {
  Times times(twoNodesOfFour(), {});
  EXPECT_EQ(rankOrders(times, {2, 4}, {}, {}).front().axes, (std::vector<unsigned>{0, 1}));
}

// Eight stages on two nodes cross between the fourth and the fifth only, whatever a ring would do.
TEST(AxisOrders, NeighbouringStagesCrossOnce) {
  Machine machine = twoNodesOfFour();
  for (int64_t stage = 1; stage < 8; ++stage)
    EXPECT_EQ(shareBetween(machine, {8}, {0}, 0, stage - 1, stage), stage == 4 ? 1 : 0);
  EXPECT_EQ(shareBetween(machine, {8}, {0}, 0, 7, 0), 1);
  // Two stages of four ranks outermost; innermost; of six ranks on nodes of four, some cross.
  EXPECT_EQ(shareBetween(machine, {2, 2, 2}, {PP, DP, TP}, PP, 0, 1), 1);
  EXPECT_EQ(shareBetween(machine, {2, 2, 2}, {DP, TP, PP}, PP, 0, 1), 0);
  EXPECT_EQ(shareBetween(machine, {2, 3}, {0, 1}, 0, 0, 1), 2.0 / 3);
}

// Ranks of a pipeline do different things: the slowest counts for the time, all for the bytes.
TEST(AxisOrders, StagesHaveTrafficOfTheirOwn) {
  Machine machine = twoNodesOfFour();
  Times times(machine, {});
  std::vector<std::vector<GroupTraffic>> programs(8);
  for (int64_t stage = 1; stage < 8; ++stage)
    programs[stage].push_back({TransferKind::Permute, 1, 1e6, 4, stage - 1, stage});
  AxisOrder order = rankOrders(times, {8}, {}, programs).front();
  EXPECT_EQ(order.inside, 6 * 4e6);
  EXPECT_EQ(order.between, 4e6);
  EXPECT_EQ(order.seconds, 4 * times.point(1e6, true));
}
