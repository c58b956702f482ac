//===- Inputs.cpp - Recorded tables ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/unit/compiler/Schedule/Inputs.h"

#include "compiler/Schedule/Csv.h"

#include "gtest/gtest.h"

#include <fstream>
#include <sstream>

namespace ptlc::schedule {

std::string readInput(const std::string &name) {
  std::ifstream file(PTLC_SCHEDULE_INPUTS + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> splitCells(const std::string &line, char separator) {
  std::vector<std::string> cells;
  size_t begin = 0;
  for (size_t end; (end = line.find(separator, begin)) != line.npos; begin = end + 1)
    cells.push_back(line.substr(begin, end - begin));
  cells.push_back(line.substr(begin));
  return cells;
}

std::vector<std::string> splitLines(const std::string &text) {
  std::vector<std::string> lines = splitCells(text, '\n');
  while (!lines.empty() && lines.back().empty())
    lines.pop_back();
  return lines;
}

Table readTableInput(const std::string &name) {
  CsvError error;
  std::optional<Table> table = readTable(readInput(name), error);
  EXPECT_TRUE(table) << name << ":" << error.line << ": " << error.message;
  return table ? *table : Table{};
}

Orders ordersOf(const std::string &kind, int p, int m, int v) {
  if (kind == "gpipe")
    return gpipe(p, m, v);
  if (kind == "1f1b")
    return oneForwardOneBackward(p, m);
  if (kind == "interleaved")
    return interleaved(p, m, v);
  if (kind == "zb-h1")
    return zeroBubbleH1(p, m);
  if (kind == "zb-h2")
    return zeroBubbleH2(p, m);
  EXPECT_EQ(kind, "zb-v");
  return *zeroBubbleV(p, m);
}

Table lowered(const Orders &orders, const LowerOptions &options) {
  Stuck stuck;
  std::optional<Table> table = lower(orders, options, stuck);
  EXPECT_TRUE(table) << "rank " << stuck.rank << " position " << stuck.position;
  return table ? *table : Table{};
}

Table lowered(const Orders &orders) {
  LowerOptions options;
  options.norm = false;
  return lowered(orders, options);
}

Table withCopies(const Table &table) {
  Table all = table;
  for (int copy = 1; copy < table.copies; ++copy)
    all.tables.insert(all.tables.end(), table.tables.begin(), table.tables.end());
  return all;
}

} // namespace ptlc::schedule
