//===- PackingTest.cpp - Items that live at once never overlap ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Memory/Packing.h"
#include <gtest/gtest.h>
#include <random>

using namespace ptlc::memory;

namespace {

void expectSound(const std::vector<PackItem> &items, const Packing &packing) {
  ASSERT_EQ(packing.offsets.size(), items.size());
  EXPECT_GE(packing.end, packing.least);
  int64_t end = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    EXPECT_GE(packing.offsets[i], 0);
    end = std::max(end, packing.offsets[i] + items[i].bytes);
    for (size_t j = 0; j < i; ++j) {
      bool together = items[i].first <= items[j].last && items[j].first <= items[i].last;
      bool apart = packing.offsets[i] + items[i].bytes <= packing.offsets[j] ||
                   packing.offsets[j] + items[j].bytes <= packing.offsets[i];
      EXPECT_TRUE(!together || apart) << i << " and " << j;
    }
  }
  EXPECT_EQ(packing.end, end);
}

TEST(Packing, NothingNeedsNothing) {
  Packing packing = packItems({});
  EXPECT_EQ(packing.end, 0);
  EXPECT_EQ(packing.least, 0);
}

// A stack: forward makes, backward reads in reverse. 1 + 2 + 3 live at once.
TEST(Packing, StacksReachTheBound) {
  std::vector<PackItem> items = {{1, 0, 5}, {2, 1, 4}, {3, 2, 3}, {3, 5, 6}};
  Packing packing = packItems(items);
  expectSound(items, packing);
  EXPECT_EQ(packing.least, 6);
  EXPECT_EQ(packing.end, 6);
}

// Largest first leaves a hole here (11 bytes); longest first doesn't.
TEST(Packing, SeveralOrdersAreTried) {
  std::vector<PackItem> items = {{5, 2, 2}, {3, 4, 6}, {3, 5, 6}, {3, 0, 6}, {4, 0, 0}};
  Packing packing = packItems(items);
  expectSound(items, packing);
  EXPECT_EQ(packing.least, 9);
  EXPECT_EQ(packing.end, 9);
}

TEST(Packing, RandomItems) {
  std::mt19937 random(1);
  auto pick = [&](int from, int to) {
    return std::uniform_int_distribution<int>(from, to)(random);
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<PackItem> items(pick(1, 40));
    for (PackItem &item : items) {
      unsigned first = pick(0, 30);
      item = {pick(0, 100), first, static_cast<unsigned>(pick(first, 40))};
    }
    expectSound(items, packItems(items));
  }
}

} // namespace
