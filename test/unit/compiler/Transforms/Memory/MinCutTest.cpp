//===- MinCutTest.cpp - The cheapest values to keep -----------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Transforms/Memory/MinCut.h"

#include "gtest/gtest.h"
#include <random>

using namespace ptlc::memory;

namespace {

struct Value {
  int64_t cost = 1;
  std::vector<unsigned> operands;
  bool root = false, needed = false;
};

llvm::BitVector solve(const std::vector<Value> &values) {
  MinCut cut;
  for (const Value &value : values)
    cut.addValue(value.cost);
  for (unsigned i = 0; i < values.size(); ++i) {
    for (unsigned operand : values[i].operands)
      cut.addUse(operand, i);
    if (values[i].root)
      cut.addRoot(i);
    if (values[i].needed)
      cut.addNeeded(i);
  }
  return cut.solve();
}

/// Whether every needed value is kept or follows from what is.
bool suffices(const std::vector<Value> &values, const llvm::BitVector &kept) {
  std::vector<bool> known(values.size());
  for (unsigned i = 0; i < values.size(); ++i) {
    bool computed = !values[i].root;
    for (unsigned operand : values[i].operands)
      computed = computed && known[operand];
    known[i] = kept[i] || computed;
    if (values[i].needed && !known[i])
      return false;
  }
  return true;
}

int64_t costOf(const std::vector<Value> &values, const llvm::BitVector &kept) {
  int64_t cost = 0;
  for (unsigned i : kept.set_bits())
    cost += values[i].cost;
  return cost;
}

std::vector<unsigned> keptOf(const std::vector<Value> &values) {
  llvm::BitVector kept = solve(values);
  return {kept.set_bits_begin(), kept.set_bits_end()};
}

TEST(MinCut, KeepsWhatIsSmaller) {
  // A row is widened, and both halves of what that gives are needed.
  EXPECT_EQ(keptOf({{3, {}, true}, {8, {0}}, {8, {1}, false, true}, {8, {1}, false, true}}),
            std::vector<unsigned>({0}));
  EXPECT_EQ(keptOf({{30, {}, true}, {8, {0}}, {8, {1}, false, true}, {8, {1}, false, true}}),
            std::vector<unsigned>({1}));
}

TEST(MinCut, TakesTheLastOfEquals) {
  EXPECT_EQ(keptOf({{4, {}, true}, {4, {0}}, {4, {1}, false, true}}), std::vector<unsigned>({2}));
}

TEST(MinCut, ValuesThatCanNotBeKeptFollowFromOthers) {
  EXPECT_EQ(keptOf({{4, {}, true}, {MinCut::kInfinite, {0}, false, true}}),
            std::vector<unsigned>({0}));
  // Nothing is needed to compute a constant.
  EXPECT_EQ(keptOf({{MinCut::kInfinite, {}, false, true}}), std::vector<unsigned>());
}

TEST(MinCut, IsTheCheapestOfAllChoices) {
  std::mt19937 random(7);
  auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  for (unsigned trial = 0; trial < 300; ++trial) {
    std::vector<Value> values(9);
    for (unsigned i = 0; i < values.size(); ++i) {
      values[i].cost = 1 + below(9);
      values[i].root = i < 2 || below(6) == 0;
      values[i].needed = below(3) == 0;
      for (unsigned operand = 0; operand < i && !values[i].root; ++operand)
        if (below(3) == 0)
          values[i].operands.push_back(operand);
    }
    llvm::BitVector found = solve(values);
    ASSERT_TRUE(suffices(values, found)) << "trial " << trial;
    int64_t least = MinCut::kInfinite;
    for (unsigned bits = 0; bits < 1u << values.size(); ++bits) {
      llvm::BitVector kept(values.size());
      for (unsigned i = 0; i < values.size(); ++i)
        kept[i] = bits >> i & 1;
      if (suffices(values, kept))
        least = std::min(least, costOf(values, kept));
    }
    EXPECT_EQ(costOf(values, found), least) << "trial " << trial;
  }
}

} // namespace
