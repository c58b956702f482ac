//===- DamageTest.cpp - What the verifier accepts runs right --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/Simulate.h"
#include "compiler/Schedule/Verify.h"
#include "test/unit/compiler/Schedule/Executor.h"
#include "test/unit/compiler/Schedule/Inputs.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>

using namespace ptlc::schedule;

/// A chain with two skips, one of them over a stage, and an edge without gradient.
static std::vector<Edge> edgesWithSkips(int stages) {
  std::vector<Edge> edges = chain(stages);
  edges.push_back({0, stages - 1, false, 1});
  if (stages > 3)
    edges.insert(edges.end(), {{0, 2, true, 1}, {2, stages - 1, true, 1}});
  return edges;
}

/// Right tables of several schedules, with ties and a norm, with and without groups of messages.
static std::vector<Table> rightTables(int m) {
  std::vector<Table> tables;
  for (const Orders &orders : {oneForwardOneBackward(3, m), zeroBubbleH1(3, m), gpipe(3, m),
                               interleaved(2, m, 2), *zeroBubbleV(2, m), zeroBubbleH2(3, m)})
    for (bool batch : {true, false}) {
      LowerOptions options;
      int stages = static_cast<int>(orders.place.size());
      options.edges = edgesWithSkips(stages);
      options.tied = {0, stages - 1};
      options.clip = true;
      options.batch = batch;
      tables.push_back(lowered(orders, options));
    }
  return tables;
}

TEST(Execution, RightTablesComputeTheRightValues) {
  for (int m : {1, 2, 3, 4, 7})
    for (const Table &table : rightTables(m)) {
      ASSERT_TRUE(verify(table).empty()) << table.name << text(verify(table).at(0));
      Outcome expected = expectedOutcome(table);
      for (uint64_t seed : {1, 2, 3, 4}) {
        std::optional<Outcome> outcome = execute(table, seed);
        ASSERT_TRUE(outcome) << table.name << " hangs";
        EXPECT_TRUE(outcome->sameValues(expected)) << table.name;
        EXPECT_EQ(outcome->mostStashes, peak(table)) << table.name;
      }
    }
}

namespace {
class Damager {
public:
  explicit Damager(uint64_t seed) : random(seed) {}

  size_t below(size_t size) { return random() % size; }

  void damage(Table &table) {
    std::vector<Instruction> &list = table.tables[below(table.tables.size())].instructions;
    size_t i = below(list.size() - 1), kind = below(24);
    if (kind < 12) {
      std::swap(list[i], list[i + 1]);
    } else if (kind < 14) {
      Instruction moved = list[i];
      list.erase(list.begin() + static_cast<ptrdiff_t>(i));
      list.insert(list.begin() + static_cast<ptrdiff_t>(below(list.size())), moved);
    } else if (kind == 14) {
      list.erase(list.begin() + static_cast<ptrdiff_t>(i));
    } else if (kind == 15) {
      list.insert(list.begin() + static_cast<ptrdiff_t>(i), Instruction(list[i]));
    } else if (kind < 20) {
      damageOperand(list[i]);
    } else {
      damageField(list[i]);
    }
  }

private:
  void damageOperand(Instruction &instruction) {
    if (instruction.operands.empty())
      return;
    Operand &operand = instruction.operands[below(instruction.operands.size())];
    switch (below(4)) {
    case 0:
    case 1:
      operand.slot = static_cast<int>(below(4));
      break;
    case 2:
      operand.takes = !operand.takes;
      break;
    default:
      operand.frees = !operand.frees;
    }
  }

  void damageField(Instruction &instruction) {
    int *fields[] = {&instruction.stage, &instruction.micro, &instruction.peer, &instruction.edge,
                     &instruction.batch};
    switch (size_t which = below(7)) {
    case 5:
      instruction.init = !instruction.init;
      break;
    case 6:
      instruction.op = static_cast<Op>(1 + below(kOps - 1));
      break;
    default:
      *fields[which] = static_cast<int>(below(7)) - 1;
    }
  }

  std::mt19937_64 random;
};
} // namespace

TEST(Execution, DamagedTablesThatAreAcceptedRunRight) {
  std::vector<Table> right = rightTables(4);
  Damager damager(5);
  int accepted = 0;
  for (uint64_t i = 0; i < 6000; ++i) {
    Table table = right[damager.below(right.size())];
    for (size_t n = 1 + damager.below(2) * damager.below(4); n > 0; --n)
      damager.damage(table);
    if (!verify(table).empty())
      continue;
    ++accepted;
    Outcome expected = expectedOutcome(table);
    for (uint64_t seed : {1, 2, 3}) {
      std::optional<Outcome> outcome = execute(table, i * 7 + seed);
      ASSERT_TRUE(outcome) << "damaged table " << i << " hangs";
      ASSERT_TRUE(outcome->sameValues(expected)) << "damaged table " << i;
    }
    for (Overlap overlap : {Overlap::Channel, Overlap::Rank, Overlap::Off}) {
      Costs costs;
      costs.link.latency = 0.2;
      costs.overlap = overlap;
      EXPECT_TRUE(simulate(table, costs)) << "damaged table " << i;
    }
  }
  EXPECT_GT(accepted, 300);
  RecordProperty("accepted", accepted);
}

// More buffers never turn a table that runs into one that doesn't.
TEST(Execution, BuffersOnlyHelp) {
  Damager damager(9);
  int differ = 0;
  for (int n = 0; n < 200; ++n) {
    Table table = rightTables(3)[damager.below(4)];
    for (int i = 0; i < 6; ++i) {
      std::vector<Instruction> &list =
          table.tables[damager.below(table.tables.size())].instructions;
      size_t at = damager.below(list.size() - 1);
      if (isMessage(list[at].op) && isMessage(list[at + 1].op))
        std::swap(list[at], list[at + 1]);
    }
    bool ran = false;
    for (int depth = 0; depth < 4; ++depth) {
      std::vector<std::optional<size_t>> ends = runBlocking(table, depth);
      bool runs = std::none_of(ends.begin(), ends.end(), [](auto end) { return end.has_value(); });
      EXPECT_LE(ran, runs);
      ran = runs;
      differ += depth == 0 && !runs;
    }
  }
  EXPECT_GT(differ, 0);
}
