//===- ChainPlanTest.cpp - Which blocks of a chain to compute again -------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Analysis/Memory/ChainPlan.h"

#include "gtest/gtest.h"
#include <random>

using namespace ptlc;

namespace {

using Blocks = std::vector<std::vector<BlockOption>>;

/// The cost of a choice, or nullopt if memory doesn't hold it.
std::optional<double> costOf(const Blocks &blocks, const std::vector<unsigned> &choice,
                             int64_t head, int64_t limit) {
  int64_t kept = 0;
  double cost = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const BlockOption &option = blocks[i][choice[i]];
    if (kept + option.working > limit)
      return std::nullopt;
    kept += option.kept;
    cost += option.cost;
  }
  if (kept + head > limit)
    return std::nullopt;
  return cost;
}

/// Tries everything.
std::optional<double> cheapest(const Blocks &blocks, int64_t head, int64_t limit) {
  std::optional<double> best;
  std::vector<unsigned> choice(blocks.size(), 0);
  while (true) {
    if (std::optional<double> cost = costOf(blocks, choice, head, limit);
        cost && (!best || *cost < *best))
      best = cost;
    size_t i = 0;
    while (i < blocks.size() && ++choice[i] == blocks[i].size())
      choice[i++] = 0;
    if (i == blocks.size())
      return best;
  }
}

TEST(ChainPlan, KeepsEverythingThatFits) {
  Blocks blocks(3, {{10, 12, 0}, {4, 13, 5}});
  EXPECT_EQ(planChain(blocks, 5, 35), std::vector<unsigned>({0, 0, 0}));
  EXPECT_EQ(planChain(blocks, 5, 16), std::nullopt);
}

TEST(ChainPlan, LastBlocksWorkOnTopOfWhatEarlierOnesKeep) {
  // Only the first block has room to compute anything again.
  Blocks blocks(3, {{10, 10, 0}, {4, 20, 5}});
  EXPECT_EQ(planChain(blocks, 0, 24), std::vector<unsigned>({1, 0, 0}));
}

TEST(ChainPlan, IsTheCheapestOfAllChoices) {
  std::mt19937 random(3);
  auto below = [&](int n) { return static_cast<int>(random() % n); };
  unsigned none = 0;
  for (unsigned trial = 0; trial < 500; ++trial) {
    Blocks blocks(1 + below(6));
    for (std::vector<BlockOption> &options : blocks)
      for (int i = 1 + below(4); i > 0; --i) {
        int64_t kept = below(20);
        options.push_back({kept, kept + below(15), static_cast<double>(below(10))});
      }
    int64_t head = below(10), limit = 10 + below(60);
    std::optional<std::vector<unsigned>> found = planChain(blocks, head, limit);
    std::optional<double> expected = cheapest(blocks, head, limit);
    ASSERT_EQ(found.has_value(), expected.has_value()) << "trial " << trial;
    none += !found;
    if (found)
      EXPECT_EQ(costOf(blocks, *found, head, limit), expected) << "trial " << trial;
  }
  EXPECT_GT(none, 20u); // both happen
  EXPECT_LT(none, 400u);
}

} // namespace
