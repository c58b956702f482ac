//===- SimulateTest.cpp - Times of messages, collectives, pictures --------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/Simulate.h"
#include "compiler/Schedule/Packed.h"
#include "compiler/Schedule/Timeline.h"
#include "compiler/Schedule/Verify.h"
#include "test/unit/compiler/Schedule/Inputs.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <chrono>

using namespace ptlc::schedule;

/// Idle time of 8 micro-batches on 4 ranks, where a share takes 1.
static double idle(const std::string &kind, int v, Overlap overlap, double latency) {
  Costs costs;
  costs.forward = costs.backward = costs.weight = {1.0 / v};
  costs.overlap = overlap;
  costs.link.latency = latency / v;
  return simulate(lowered(ordersOf(kind, 4, 8, v)), costs)->makespan - 24;
}

// One queue per rank costs once there is latency; a rank that blocks on every message always.
TEST(Simulate, Overlap) {
  struct Case {
    std::string kind;
    int v;
    double channel, off, channelLatency, rankLatency;
  };
  for (const Case &its :
       {Case{"1f1b", 1, 9, 24, 10.7, 10.8}, Case{"zb-h1", 1, 3, 13, 4.2, 4.2},
        Case{"interleaved", 2, 4.5, 29, 5.2, 6.75}, Case{"zb-v", 2, 1.5, 9.5, 2.25, 2.55}}) {
    EXPECT_NEAR(idle(its.kind, its.v, Overlap::Channel, 0), its.channel, 1e-9) << its.kind;
    EXPECT_NEAR(idle(its.kind, its.v, Overlap::Rank, 0), its.channel, 1e-9) << its.kind;
    EXPECT_NEAR(idle(its.kind, its.v, Overlap::Off, 0), its.off, 1e-9) << its.kind;
    EXPECT_NEAR(idle(its.kind, its.v, Overlap::Channel, 0.1), its.channelLatency, 1e-9) << its.kind;
    EXPECT_NEAR(idle(its.kind, its.v, Overlap::Rank, 0.1), its.rankLatency, 1e-9) << its.kind;
  }
}

// One micro-batch on two ranks: F, message, F, LOSS, BW, message, BW, OPT.
TEST(Simulate, TimesOfMessagesAndStages) {
  LowerOptions options;
  options.edges = chain(2, 100);
  Table table = lowered(oneForwardOneBackward(2, 1), options);
  Costs costs;
  costs.forward = {1, 2}, costs.backward = {3, 4}, costs.weight = {5, 6};
  costs.loss = {0.5}, costs.update = {0.25};
  costs.link = {0.125, 100};
  EXPECT_NEAR(simulate(table, costs)->makespan, 1 + 1.125 + 2 + 0.5 + 10 + 1.125 + 8 + 0.25, 1e-9);
  costs.links = {{}, {0.25, 200}, {0.5, 50}, {}}; // there and back differ
  EXPECT_NEAR(simulate(table, costs)->makespan, 1 + 0.75 + 2 + 0.5 + 10 + 2.5 + 8 + 0.25, 1e-9);
  costs.both = {7, 9};
  EXPECT_NEAR(simulate(table, costs)->makespan, 1 + 0.75 + 2 + 0.5 + 9 + 2.5 + 7 + 0.25, 1e-9);
}

// A gradient's sum over copies overlaps with other work; the update waits for it, and with clipping
// for the norm of the slowest rank.
TEST(Simulate, Collectives) {
  LowerOptions options;
  options.copies = 2;
  Costs costs;
  costs.reduce = {4};
  costs.update = {1};
  double reduced = simulate(lowered(oneForwardOneBackward(2, 2), options), costs)->makespan;
  EXPECT_NEAR(reduced, 9 + 4 + 1, 1e-9);
  options.clip = true;
  costs.norm = 2;
  EXPECT_NEAR(simulate(lowered(oneForwardOneBackward(2, 2), options), costs)->makespan,
              9 + 4 + 2 + 1, 1e-9);
}

TEST(Simulate, GathersOverlapWithComputation) {
  LowerOptions options;
  options.copies = 2;
  Costs costs;
  costs.gather = {1};
  for (Gathers gathers : {Gathers::Keep, Gathers::Use}) {
    options.gathers = gathers;
    Table table = lowered(interleaved(2, 4, 2), options);
    EXPECT_TRUE(verify(table).empty());
    // The first gather alone is in the way where each is kept.
    if (gathers == Gathers::Keep)
      EXPECT_NEAR(simulate(table, costs)->makespan, simulate(table, {})->makespan + 1, 1e-9);
    else
      EXPECT_GT(simulate(table, costs)->makespan, simulate(table, {})->makespan + 1);
  }
}

// A wire that all messages of a rank share, and buffers before a receive is posted.
TEST(Simulate, SharedWireAndBuffers) {
  Table table = lowered(interleaved(4, 8, 2));
  Costs costs;
  costs.link = {0, 2};
  double apart = simulate(table, costs)->makespan;
  costs.sharedWire = true;
  EXPECT_GE(simulate(table, costs)->makespan, apart);
  costs.sharedWire = false;
  costs.depth = 2;
  EXPECT_LE(simulate(table, costs)->makespan, apart);
}

static size_t count(const std::string &text, const std::string &what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1))
    ++found;
  return found;
}

TEST(Simulate, Pictures) {
  Table table = lowered(zeroBubbleH1(2, 3));
  table.name = "a<b\"";
  std::optional<Simulation> result = simulate(table, {});
  std::string svg = drawSvg(table, *result);
  EXPECT_EQ(count(svg, "<title>"), 2u * 3 * 3);
  EXPECT_EQ(count(svg, "a&lt;b\""), 1u);
  EXPECT_EQ(count(svg, "<title>W s1 m2 "), 1u);
  std::string perfetto = drawPerfetto(table, *result);
  EXPECT_EQ(count(perfetto, "\"ph\":\"X\""), 2u * 3 * 3 + 2 * 3);
  EXPECT_EQ(count(perfetto, "\"channel 0 to 1\""), 1u);
  EXPECT_EQ(count(perfetto, "a<b\\\""), 1u);
}

// A large pipeline takes a moment: making, verifying and playing its 24 thousand instructions.
TEST(Simulate, LargeTables) {
  auto begin = std::chrono::steady_clock::now();
  Table table = lowered(interleaved(16, 64, 4));
  EXPECT_TRUE(verify(table).empty());
  EXPECT_TRUE(simulate(table, {}));
  std::string error;
  EXPECT_LT(pack(table, error)->size(), 900'000u);
  size_t instructions = 0;
  for (const RankTable &rank : table.tables)
    instructions += rank.instructions.size();
  EXPECT_EQ(instructions, 24448u);
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  RecordProperty("milliseconds", static_cast<int>(seconds.count() * 1000));
}
