//===- DamageTest.cpp - What the verifier accepts runs right --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/Packed.h"
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
/// Makes pipelines of random shape: any placement, edges that skip stages, edges without gradient,
/// stages that split their backward or don't, and any order in which all of it can run.
class RandomPipeline {
public:
  explicit RandomPipeline(uint64_t seed) : random(seed) {
    orders.name = "random";
    orders.ranks = 1 + below(4);
    orders.chunks = 1 + below(3);
    orders.micros = 1 + below(5);
    int stages = orders.ranks * orders.chunks;
    for (int stage = 0; stage < stages; ++stage)
      orders.place.push_back(below(orders.ranks));
    options.edges = chain(stages);
    for (Edge &edge : options.edges)
      edge.gradient = below(8) > 0;
    for (int i = below(4); i > 0 && stages > 1; --i) {
      int source = below(stages - 1);
      int target = source + 1 + below(stages - 1 - source);
      options.edges.push_back({source, target, below(3) > 0, 1});
    }
    for (int stage = 0; stage < stages; ++stage) {
      splits.push_back(below(2) > 0);
      if (below(4) == 0)
        options.tied.push_back(stage);
    }
    options.clip = below(2) > 0;
    options.batch = below(2) > 0;
    order(stages);
  }

  Table table() const { return lowered(orders, options); }

private:
  int below(int size) { return static_cast<int>(random() % static_cast<uint64_t>(size)); }

  bool isReady(Op op, int stage) const {
    int micro = count(op, stage);
    if (micro == orders.micros)
      return false;
    if (op == Op::W)
      return splits[stage] && micro < count(Op::B, stage);
    if (op != Op::F && micro >= count(Op::F, stage))
      return false;
    return std::all_of(options.edges.begin(), options.edges.end(), [&](const Edge &edge) {
      if (op == Op::F)
        return edge.target != stage || micro < count(Op::F, edge.source);
      return edge.source != stage || !edge.gradient || micro < count(Op::B, edge.target);
    });
  }

  /// Appends whatever can run, until nothing is left.
  void order(int stages) {
    orders.actions.resize(orders.ranks);
    done.assign(kOps, std::vector<int>(stages));
    while (true) {
      std::vector<Action> ready;
      for (int stage = 0; stage < stages; ++stage)
        for (Op op : {Op::F, Op::B, Op::W})
          if (isReady(op, stage))
            ready.push_back({op, stage, count(op, stage)});
      if (ready.empty())
        return;
      Action action = ready[below(static_cast<int>(ready.size()))];
      ++done[static_cast<size_t>(action.op)][action.stage];
      if (action.op == Op::B && !splits[action.stage])
        action.op = Op::BW;
      orders.actions[orders.place[action.stage]].push_back(action);
    }
  }

  int count(Op op, int stage) const { return done[static_cast<size_t>(op)][stage]; }

  std::mt19937_64 random;
  Orders orders;
  LowerOptions options;
  std::vector<bool> splits;
  std::vector<std::vector<int>> done; ///< [op][stage]
};

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

// Whatever can run in some order becomes a right table.
TEST(Execution, RandomOrdersBecomeRightTables) {
  for (uint64_t seed = 0; seed < 600; ++seed) {
    Table table = RandomPipeline(seed).table();
    for (const Mistake &mistake : verify(table))
      FAIL() << "seed " << seed << ": " << text(mistake);
    Outcome expected = expectedOutcome(table);
    for (uint64_t interleaving : {1, 2}) {
      std::optional<Outcome> outcome = execute(table, seed * 3 + interleaving);
      ASSERT_TRUE(outcome) << "seed " << seed << " hangs";
      EXPECT_TRUE(outcome->sameValues(expected)) << "seed " << seed;
      EXPECT_EQ(outcome->mostStashes, peak(table)) << "seed " << seed;
    }
    EXPECT_TRUE(simulate(table, {})) << "seed " << seed;
    std::string error;
    std::optional<std::string> bytes = pack(table, error);
    ASSERT_TRUE(bytes) << error;
    std::optional<Table> back = unpack(*bytes, error);
    ASSERT_TRUE(back) << error;
    back->name = table.name;
    EXPECT_EQ(*back, table) << "seed " << seed;
  }
}

/// Runs a table that the verifier accepts.
static void expectRight(const Table &table, uint64_t seed) {
  Outcome expected = expectedOutcome(table);
  for (uint64_t interleaving : {1, 2, 3}) {
    std::optional<Outcome> outcome = execute(table, seed * 7 + interleaving);
    ASSERT_TRUE(outcome) << "damaged table " << seed << " hangs";
    ASSERT_TRUE(outcome->sameValues(expected)) << "damaged table " << seed;
  }
  for (Overlap overlap : {Overlap::Channel, Overlap::Rank, Overlap::Off}) {
    Costs costs;
    costs.link.latency = 0.2;
    costs.overlap = overlap;
    EXPECT_TRUE(simulate(table, costs)) << "damaged table " << seed;
  }
}

TEST(Execution, DamagedRandomTablesThatAreAcceptedRunRight) {
  Damager damager(11);
  int accepted = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    Table table = RandomPipeline(seed).table();
    bool isTiny = std::any_of(table.tables.begin(), table.tables.end(),
                              [](const RankTable &rank) { return rank.instructions.size() < 3; });
    if (isTiny)
      continue;
    for (size_t n = 1 + damager.below(2); n > 0; --n)
      damager.damage(table);
    if (!verify(table).empty())
      continue;
    ++accepted;
    expectRight(table, seed);
    if (HasFatalFailure())
      return;
  }
  EXPECT_GT(accepted, 100);
}

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
    expectRight(table, i);
    if (HasFatalFailure())
      return;
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
