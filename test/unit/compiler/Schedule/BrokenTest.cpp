//===- BrokenTest.cpp - Wrong tables are refused where they are wrong -----===//
// SPDX-License-Identifier: Apache-2.0
//
// Inputs/broken.txt holds tables as changes of right ones:
//   = name base code rank position [planned stashes]     base*: with its copies written out
//   -N          line N of the base is left out
//   +N text     a line before line N of the base
// The expected mistakes were stated together with the changes, not taken from a verifier.
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/Csv.h"
#include "compiler/Schedule/Verify.h"
#include "test/unit/compiler/Schedule/Inputs.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <map>
#include <set>

using namespace ptlc::schedule;

namespace {
struct BrokenTable {
  std::string name, base, code;
  int rank = 0, position = 0;
  VerifyOptions options;
  std::vector<std::string> changes;

  /// The changes, done.
  Table table() const {
    bool copies = base.back() == '*';
    Table right = readTableInput("base-" + base.substr(0, base.size() - copies) + ".csv");
    EXPECT_TRUE(verify(right).empty()) << base;
    std::vector<std::string> lines = splitLines(printTable(copies ? withCopies(right) : right));
    std::set<size_t> removed;
    std::map<size_t, std::string> added;
    for (const std::string &change : changes) {
      size_t line = std::stoul(change.substr(1));
      if (change[0] == '-')
        removed.insert(line);
      else
        added[line] += change.substr(change.find(' ') + 1) + "\n";
    }
    std::string text;
    for (size_t line = 1; line <= lines.size() + 1; ++line) {
      text += added[line];
      if (line <= lines.size() && !removed.count(line))
        text += lines[line - 1] + "\n";
    }
    CsvError error;
    std::optional<Table> table = readTable(text, error);
    EXPECT_TRUE(table) << name << ":" << error.line << ": " << error.message;
    return table ? *table : Table{};
  }
};
} // namespace

static std::vector<BrokenTable> brokenTables() {
  std::vector<BrokenTable> tables;
  for (const std::string &line : splitLines(readInput("broken.txt"))) {
    if (line[0] != '=') {
      tables.back().changes.push_back(line);
      continue;
    }
    std::vector<std::string> cells = splitCells(line, ' ');
    BrokenTable table{cells[1], cells[2], cells[3], std::stoi(cells[4]), std::stoi(cells[5]),
                      {},       {}};
    for (size_t i = 6; i < cells.size(); ++i)
      table.options.limit.push_back(std::stoi(cells[i]));
    tables.push_back(table);
  }
  return tables;
}

TEST(Broken, EveryTableIsRefusedWhereItIsWrong) {
  std::set<std::string> codes;
  std::vector<BrokenTable> tables = brokenTables();
  EXPECT_EQ(tables.size(), 90u);
  for (const BrokenTable &broken : tables) {
    std::vector<Mistake> mistakes = verify(broken.table(), broken.options);
    ASSERT_FALSE(mistakes.empty()) << broken.name << " is accepted";
    EXPECT_EQ(mistakes[0].code, broken.code) << broken.name << ": " << text(mistakes[0]);
    EXPECT_EQ(mistakes[0].rank, broken.rank) << broken.name << ": " << text(mistakes[0]);
    EXPECT_EQ(mistakes[0].position, broken.position) << broken.name << ": " << text(mistakes[0]);
    codes.insert(broken.code);
  }
  EXPECT_EQ(codes.size(), 33u);
}

// Which buffers would let a table run that blocks without them.
TEST(Broken, LeastDepthOfBuffers) {
  std::map<std::string, std::optional<int>> depths;
  for (const BrokenTable &broken : brokenTables())
    if (broken.code == "DEADLOCK")
      depths[broken.name] = leastDepth(broken.table(), 8);
  EXPECT_EQ(depths["72_both_send_first"], 1);
  EXPECT_EQ(depths["73_both_receive_first"], std::nullopt);
}

// Orders of users that can't run are refused before they become tables.
TEST(Broken, OrdersThatCannotRun) {
  CsvError error;
  Stuck stuck;
  std::optional<Orders> orders = readOrders(readInput("cycle-short-last-group.csv"), error);
  ASSERT_TRUE(orders) << error.message;
  EXPECT_FALSE(lower(*orders, {}, stuck));
  EXPECT_EQ(std::pair(stuck.rank, stuck.position), std::pair(0, 14));
  orders = readOrders(readInput("cycle-backward-before-forward-of-next-stage.csv"), error);
  ASSERT_TRUE(orders) << error.message;
  EXPECT_FALSE(lower(*orders, {}, stuck));
  EXPECT_EQ(std::pair(stuck.rank, stuck.position), std::pair(0, 1));
}

TEST(Broken, MessagesNameRankPositionAndInstruction) {
  Table table = lowered(oneForwardOneBackward(2, 2));
  std::vector<Instruction> &list = table.tables[1].instructions;
  for (Instruction &instruction : list)
    instruction.batch = 0;
  std::rotate(list.begin(), list.begin() + 2, list.begin() + 3);
  EXPECT_EQ(text(verify(table).at(0)),
            "rank 1, position 0: F s1 m0: RECV_A edge 0 m0 hasn't happened before it [DEPENDENCY]");
}

TEST(Broken, TablesOfTheWrongShape) {
  Table table = lowered(oneForwardOneBackward(2, 2));
  table.edges[0].target = 5;
  EXPECT_EQ(verify(table).at(0).message, "edge 0>5 doesn't lead to a later stage");
  table = lowered(oneForwardOneBackward(2, 2));
  table.place[1] = 2;
  EXPECT_EQ(verify(table).at(0).message, "a stage lies on a rank outside 0..1");
  table.tables.pop_back();
  EXPECT_EQ(verify(table).at(0).message, "1 lists for 2 ranks");
  EXPECT_EQ(verify(Table{}).at(0).code, "BAD_TABLE");
}
