//===- PartitionTest.cpp - Layers to stages, stages to ranks --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/Partition.h"
#include "compiler/Schedule/Table.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <random>

using namespace ptlc::schedule;

static std::vector<int> sizesOf(const std::vector<Part> &parts) {
  std::vector<int> sizes;
  for (const Part &part : parts)
    sizes.push_back(part.second - part.first);
  return sizes;
}

TEST(Partition, EveryLayerOnceAndEvenly) {
  for (int layers : {7, 10, 30})
    for (int parts = 1; parts <= layers; ++parts) {
      std::optional<std::vector<Part>> result = partition(std::vector<int64_t>(layers, 1), parts);
      ASSERT_TRUE(result);
      int next = 0;
      for (const Part &part : *result) {
        EXPECT_EQ(part.first, next);
        next = part.second;
      }
      EXPECT_EQ(next, layers);
      std::vector<int> sizes = sizesOf(*result);
      EXPECT_LE(*std::max_element(sizes.begin(), sizes.end()) -
                    *std::min_element(sizes.begin(), sizes.end()),
                1);
    }
  EXPECT_EQ(sizesOf(*partition(std::vector<int64_t>(30, 1), 4)), (std::vector<int>{7, 7, 8, 8}));
  EXPECT_FALSE(partition(std::vector<int64_t>(7, 1), 8));
}

// An embedding and a head count as what they cost.
TEST(Partition, UnequalLayers) {
  std::vector<int64_t> costs(14, 2);
  costs.front() = 3;
  costs.back() = 9;
  EXPECT_EQ(sizesOf(*partition(costs, 3)), (std::vector<int>{5, 6, 3}));
}

/// Calls `visit` with the bounds of every way to cut `layers` into `parts`.
static void forAllCuts(int layers, int parts, std::vector<int> &bounds,
                       const std::function<void(const std::vector<int> &)> &visit) {
  if (parts == 1) {
    bounds.push_back(layers);
    visit(bounds);
    bounds.pop_back();
    return;
  }
  for (int next = bounds.back() + 1; next <= layers - parts + 1; ++next) {
    bounds.push_back(next);
    forAllCuts(layers, parts - 1, bounds, visit);
    bounds.pop_back();
  }
}

static int64_t costOf(const std::vector<int64_t> &costs, int first, int end) {
  int64_t sum = 0;
  for (int layer = first; layer < end; ++layer)
    sum += costs[layer];
  return sum;
}

/// The largest load of a rank, and the sum of squares of the parts.
static std::pair<int64_t, int64_t> scoreOf(const std::vector<int64_t> &costs,
                                           const std::vector<int> &bounds,
                                           const std::vector<int> &place) {
  std::vector<int64_t> loads(place.size());
  int64_t squares = 0;
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    int64_t cost = costOf(costs, bounds[i], bounds[i + 1]);
    loads[place[i]] += cost;
    squares += cost * cost;
  }
  return {*std::max_element(loads.begin(), loads.end()), squares};
}

static std::vector<int> boundsOf(const std::vector<Part> &parts) {
  std::vector<int> bounds{0};
  for (const Part &part : parts)
    bounds.push_back(part.second);
  return bounds;
}

static std::vector<int64_t> randomCosts(std::mt19937 &random, size_t size) {
  std::vector<int64_t> costs(size);
  for (int64_t &cost : costs)
    cost = 1 + static_cast<int64_t>(random() % 8);
  return costs;
}

TEST(Partition, NoneIsBetter) {
  std::mt19937 random(1);
  for (int n = 0; n < 200; ++n) {
    std::vector<int64_t> costs = randomCosts(random, 4 + random() % 6);
    int parts = 1 + static_cast<int>(random() % 4);
    std::vector<int> place = roundRobin(parts, 1), bounds{0};
    std::pair<int64_t, int64_t> found = scoreOf(costs, boundsOf(*partition(costs, parts)), place);
    forAllCuts(static_cast<int>(costs.size()), parts, bounds, [&](const std::vector<int> &other) {
      EXPECT_LE(found, scoreOf(costs, other, place));
    });
  }
}

// With two chunks per rank the largest load of a rank counts; near the best of all ways.
TEST(Partition, RanksWithSeveralStages) {
  std::mt19937 random(2);
  int best = 0;
  double worst = 1;
  for (int n = 0; n < 60; ++n) {
    std::vector<int64_t> costs = randomCosts(random, 9);
    for (const std::vector<int> &place : {roundRobin(2, 2), snake(2, 2)}) {
      int64_t found = scoreOf(costs, boundsOf(*partitionRanks(costs, 2, place)), place).first;
      int64_t least = std::numeric_limits<int64_t>::max();
      std::vector<int> bounds{0};
      forAllCuts(9, 4, bounds, [&](const std::vector<int> &other) {
        least = std::min(least, scoreOf(costs, other, place).first);
      });
      best += found == least;
      worst = std::max(worst, static_cast<double>(found) / static_cast<double>(least));
    }
  }
  EXPECT_GE(best, 90);
  EXPECT_LE(worst, 1.25);
}

/// Edges of the chain that leave a machine of four ranks.
static int crossings(const std::vector<int> &place) {
  int count = 0;
  for (size_t stage = 0; stage + 1 < place.size(); ++stage)
    count += place[stage] / 4 != place[stage + 1] / 4;
  return count;
}

TEST(Placement, CrossingsBetweenMachines) {
  EXPECT_EQ(crossings(roundRobin(8, 1)), 1);
  EXPECT_EQ(crossings(roundRobin(8, 2)), 3);
  EXPECT_EQ(crossings(snake(8, 2)), 2);
}
