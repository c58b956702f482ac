//===- ClosedFormsTest.cpp - Times and memory that the literature gives ---===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/Simulate.h"
#include "compiler/Schedule/Verify.h"
#include "test/unit/compiler/Schedule/Inputs.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace ptlc::schedule;

/// A rank's whole share takes 1 for F, B and W each.
static Costs unitShares(int v) {
  Costs costs;
  costs.forward = costs.backward = costs.weight = {1.0 / v};
  return costs;
}

static std::string slotsOf(const Table &table) {
  std::string out;
  for (const RankTable &rank : table.tables) {
    out += out.empty() ? "" : " ";
    for (SlotKind kind :
         {SlotKind::C, SlotKind::D, SlotKind::G, SlotKind::S, SlotKind::X, SlotKind::Y})
      if (int count = rank.slots[static_cast<size_t>(kind)])
        out += name(kind) + std::to_string(count);
  }
  return out;
}

static void checkRow(const std::vector<std::string> &row) {
  int p = std::stoi(row[1]), m = std::stoi(row[2]), v = std::stoi(row[3]);
  SCOPED_TRACE(row[0] + " p=" + row[1] + " m=" + row[2] + " v=" + row[3]);
  Table table = lowered(ordersOf(row[0], p, m, v));
  for (const Mistake &mistake : verify(table))
    ADD_FAILURE() << text(mistake);
  std::optional<Simulation> result = simulate(table, unitShares(v));
  ASSERT_TRUE(result);
  EXPECT_NEAR(result->makespan, std::stod(row[4]), 1e-5);
  EXPECT_NEAR(result->period(), std::stod(row[5]), 1e-5);
  EXPECT_NEAR(result->idleOfTotal(0), std::stod(row[6]), 1e-5);
  EXPECT_NEAR(result->idleOverIdeal(0), std::stod(row[7]), 1e-5);
  std::vector<int> stashes = peak(table);
  std::vector<std::string> inFlight = splitCells(row[8], ' ');
  for (int rank = 0; rank < p; ++rank)
    EXPECT_NEAR(static_cast<double>(stashes[rank]) / v, std::stod(inFlight[rank]), 1e-3);
  if (!row[9].empty())
    EXPECT_EQ(slotsOf(table), row[9]);
  Costs oneQueue = unitShares(v);
  oneQueue.overlap = Overlap::Rank;
  EXPECT_NEAR(simulate(table, oneQueue)->makespan, result->makespan, 1e-6);
}

TEST(ClosedForms, TablesOfTheWholeGrid) {
  std::vector<std::string> lines = splitLines(readInput("closed-forms.csv"));
  EXPECT_EQ(lines.size(), 969u);
  for (size_t i = 1; i < lines.size(); ++i)
    checkRow(splitCells(lines[i]));
}

namespace {
struct Share {
  int64_t forward, backward, weight;
};
} // namespace

/// Time of a step with whole-share costs, for schedules that have a closed form for all of them.
static int64_t makespanOf(const std::string &kind, int64_t p, int64_t m, int64_t v, Share cost) {
  int64_t all = cost.forward + cost.backward + cost.weight;
  if (kind == "interleaved") // in chunks
    return (std::max(m, p) * v + std::min(m, p) - 1) * all;
  if (kind == "zb-h1")
    return m * all + (p - 1) * (cost.forward + cost.backward) -
           (std::min(m, p) - 1) * std::min(cost.forward, cost.weight);
  return (m + p - 1) * all;
}

static void checkTicks(const std::string &kind, int p, int m, int v) {
  Orders orders = ordersOf(kind, p, m, v);
  for (Share cost : {Share{1, 1, 1}, Share{2, 3, 2}, Share{1, 1, 2}, Share{3, 2, 1}}) {
    Ticks ticks{{cost.forward}, {cost.backward}, {cost.weight}, 0};
    Stuck stuck;
    std::optional<Timing> timing = runInTicks(orders, chain(p * v), ticks, stuck);
    ASSERT_TRUE(timing) << kind << " " << p << " " << m << " " << v;
    EXPECT_EQ(timing->makespan(), makespanOf(kind, p, m, v, cost))
        << kind << " " << p << " " << m << " " << v;
  }
}

TEST(ClosedForms, OrdersOfManySizesAndCosts) {
  for (int p = 1; p <= 16; ++p)
    for (int m = 1; m <= 64; m += m < 40 ? 1 : 8) {
      for (std::string kind : {"gpipe", "1f1b", "zb-h1"})
        checkTicks(kind, p, m, 1);
      for (int v = 2; v <= 4 && (m <= 24 || m % 8 == 0); ++v)
        checkTicks("interleaved", p, m, v);
    }
}

// Without a barrier between steps ZB-V has no bubble at all: each rank is busy from r to 6m + r.
TEST(ClosedForms, CountedZbVIsBusyWithoutAGap) {
  for (int p = 1; p <= 16; ++p)
    for (int m : {2 * p - 1, 2 * p, 2 * p + 1, 2 * p + 4, 2 * p + 7, 64}) {
      Stuck stuck;
      std::optional<Timing> timing = runInTicks(zeroBubbleVCounted(p, m), chain(2 * p), {}, stuck);
      ASSERT_TRUE(timing) << p << " " << m;
      for (int rank = 0; rank < p; ++rank) {
        EXPECT_EQ(timing->start[rank].front(), rank);
        EXPECT_EQ(timing->end[rank].back(), 6 * m + rank);
      }
    }
}

static int64_t makespanOf(const Orders &orders) {
  Stuck stuck;
  return runInTicks(orders, chain(2 * orders.ranks), {}, stuck)->makespan();
}

// With a barrier, such as the norm of `clip`, the last rank ends the step. It can't begin before
// tick p - 1 and has 6m ticks of work, so the counted ZB-V is the fastest. With few micro-batches
// the least makespan is no less than that of the least period.
TEST(ClosedForms, ZbVHasTheLeastMakespan) {
  for (int p = 1; p <= 16; ++p)
    for (int m : {2 * p - 1, 2 * p + 4, 64})
      EXPECT_EQ(makespanOf(*zeroBubbleV(p, m)), 6 * m + p - 1);
  ListOptions barrier;
  barrier.barrier = true;
  for (int p = 2; p <= 5; ++p)
    for (int m = 1; m < 2 * p - 1; ++m)
      EXPECT_EQ(makespanOf(*zeroBubbleV(p, m)), makespanOf(*zeroBubbleV(p, m, barrier)));
}

// Shares of time that the literature states, with its own conventions.
TEST(ClosedForms, StatedShares) {
  for (auto [p, m] : {std::pair(2, 4), std::pair(4, 8), std::pair(8, 32)}) {
    for (std::string kind : {"gpipe", "1f1b"}) {
      std::optional<Simulation> result = simulate(lowered(ordersOf(kind, p, m, 1)), {});
      EXPECT_NEAR(result->idleOfTotal(p - 1), (p - 1.0) / (m + p - 1), 1e-9);
      EXPECT_NEAR(result->idleOverIdeal(p - 1), (p - 1.0) / m, 1e-9);
    }
    for (int v : {2, 4}) {
      Table table = lowered(interleaved(p, m, v));
      EXPECT_NEAR(simulate(table, unitShares(v))->idleOfTotal(0), (p - 1.0) / (m * v + p - 1),
                  1e-9);
      EXPECT_NEAR(static_cast<double>(peak(table)[0]) / v, p * (1 + (p - 1.0) / (p * v)), 1e-9);
    }
    // A third of the bubble of 1F1B.
    EXPECT_NEAR(simulate(lowered(zeroBubbleH1(p, m)), {})->makespan - 3 * m, p - 1, 1e-9);
  }
}

// 1F1B keeps at most p - r micro-batches, however many there are; its inputs one more.
TEST(ClosedForms, MemoryOf1F1BDoesNotGrowWithMicroBatches) {
  for (int m : {8, 16, 64}) {
    Table table = lowered(oneForwardOneBackward(4, m));
    EXPECT_EQ(peak(table), (std::vector<int>{4, 3, 2, 1}));
    for (int rank = 0; rank < 4; ++rank)
      EXPECT_EQ(table.tables[rank].slots[static_cast<size_t>(SlotKind::X)],
                rank == 0 ? 0 : 5 - rank);
  }
}

// V schedules with half and a third of ZB-V's memory: their bubbles as shares of 1F1B's 3 (p - 1).
TEST(ClosedForms, LowMemoryVSchedules) {
  struct Case {
    int limit;
    double bubble;
  };
  for (Case its : {Case{vHalfLimit(8), 10.5}, Case{vMinLimit(8), 13.5}})
    for (int m : {16, 32}) {
      Table table = lowered(*vPattern(8, m, its.limit));
      VerifyOptions options;
      options.limit = {its.limit};
      EXPECT_TRUE(verify(table, options).empty());
      EXPECT_NEAR(simulate(table, unitShares(2))->period() - 3 * m, its.bubble, 1e-9);
    }
  EXPECT_FALSE(vPattern(4, 8, 2));
}

// Every schedule exists for fewer micro-batches than stages, and for one stage.
TEST(ClosedForms, FewMicroBatchesAndOneStage) {
  std::string error;
  for (Kind kind : {Kind::GPipe, Kind::OneForwardOneBackward, Kind::Interleaved, Kind::ZbH1,
                    Kind::ZbH2, Kind::ZbV})
    for (int p : {1, 2, 4})
      for (int m : {1, 2, 3, 4, 5, 8}) {
        std::optional<Orders> orders = generate(kind, p, m, 2, error);
        ASSERT_TRUE(orders) << error;
        LowerOptions options;
        options.clip = true;
        for (const Mistake &mistake : verify(lowered(*orders, options)))
          ADD_FAILURE() << name(kind) << " " << p << " " << m << ": " << text(mistake);
      }
  EXPECT_FALSE(generate(Kind::ZbV, 0, 1, 1, error));
  EXPECT_EQ(error, "a schedule needs at least one rank, one micro-batch and one chunk");
  EXPECT_FALSE(generate(Kind::VMin, 1, 4, 2, error) && error.empty());
}

// Uneven costs and slow messages: the list scheduler is within these shares of ideal.
TEST(ClosedForms, ListSchedulerWithCosts) {
  struct Case {
    Ticks ticks;
    int p, m;
    double period; // over ideal
  };
  Ticks uneven{{10}, {12}, {9}, 0}, slow{{10}, {12}, {9}, 2};
  for (const Case &its : {Case{uneven, 4, 16, 1.0181}, Case{uneven, 8, 32, 1.0212},
                          Case{slow, 4, 16, 1.0504}, Case{slow, 8, 32, 1.0615}}) {
    ListOptions options;
    options.ticks = its.ticks;
    std::optional<Orders> orders = zeroBubbleV(its.p, its.m, options);
    LowerOptions lowering;
    lowering.ticks = its.ticks;
    Table table = lowered(*orders, lowering);
    VerifyOptions verifying;
    verifying.limit = {2 * its.p};
    EXPECT_TRUE(verify(table, verifying).empty());
    Costs costs;
    costs.forward = {10}, costs.backward = {12}, costs.weight = {9};
    costs.link.latency = static_cast<double>(its.ticks.message);
    EXPECT_LE(simulate(table, costs)->period() / (2 * its.m * 31), its.period + 1e-4);
  }
  ListOptions tooSmall;
  tooSmall.limit = {1};
  EXPECT_FALSE(zeroBubbleV(2, 4, tooSmall));
}
