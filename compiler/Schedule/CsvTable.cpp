//===- CsvTable.cpp - Whole tables as text --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A header with everything but the instructions, the names of the columns, and a line for each
// instruction. With copies that are written out, ranks run on from copy to copy.
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/Csv.h"
#include "compiler/Schedule/CsvFields.h"

namespace ptlc::schedule {

static constexpr std::string_view kColumns = "rank,pos,op,stage,mb,peer,edge,batch,group,init,args";
/// Kinds in the order of their letters, as counts of slots are written.
static constexpr SlotKind kKindsByLetter[] = {SlotKind::C, SlotKind::D, SlotKind::G,
                                              SlotKind::S, SlotKind::X, SlotKind::Y};

static std::string printHeader(const Table &table) {
  std::string out = "ptl-schedule,1,full,name=" + table.name + ",p=" + std::to_string(table.ranks) +
                    ",v=" + std::to_string(table.chunks) + ",m=" + std::to_string(table.micros) +
                    ",place=" + csv::join(table.place) + ",edges=";
  std::string_view blank;
  for (const Edge &edge : table.edges) {
    out += blank;
    out += std::to_string(edge.source) + ">" + std::to_string(edge.target) +
           (edge.gradient ? "*" : "!*") + std::to_string(edge.bytes);
    blank = " ";
  }
  out += ",slots=";
  for (size_t rank = 0; rank < table.tables.size(); ++rank) {
    out += rank > 0 ? " " : "";
    for (SlotKind kind : kKindsByLetter)
      if (int count = table.tables[rank].slots[static_cast<size_t>(kind)])
        out += name(kind) + std::to_string(count);
  }
  return out + ",tied=" + csv::join(table.tied) + ",clip=" + (table.clip ? "1" : "0") +
         ",dp=" + std::to_string(table.copies) + ",zero=" + std::to_string(table.zero) + "\n";
}

static std::string numberOr(int value, int none) {
  return value == none ? "" : std::to_string(value);
}

std::string printTable(const Table &table) {
  std::string out = printHeader(table) + std::string(kColumns) + "\n";
  for (size_t rank = 0; rank < table.tables.size(); ++rank) {
    const std::vector<Instruction> &list = table.tables[rank].instructions;
    for (size_t i = 0; i < list.size(); ++i) {
      const Instruction &at = list[i];
      out += std::to_string(rank) + "," + std::to_string(i) + "," + std::string(name(at.op));
      for (int number : {at.stage, at.micro, at.peer, at.edge})
        out += "," + numberOr(number, -1);
      out += "," + numberOr(at.batch, 0) + "," + std::string(name(at.group)) +
             (at.init ? ",1," : ",,");
      for (size_t k = 0; k < at.operands.size(); ++k)
        out += (k > 0 ? " " : "") + text(at.operands[k]);
      out += "\n";
    }
  }
  return out;
}

static std::optional<SlotKind> parseKind(char letter) {
  for (SlotKind kind : kKindsByLetter)
    if (letter == name(kind))
      return kind;
  return std::nullopt;
}

/// `0>1*65536`, `0>3!*16`: without a gradient.
static bool parseEdge(std::string_view word, Edge &edge) {
  size_t arrow = word.find('>'), star = word.find('*');
  if (arrow == word.npos || star == word.npos || star < arrow)
    return false;
  std::string_view target = word.substr(arrow + 1, star - arrow - 1);
  edge.gradient = !target.ends_with('!');
  if (!edge.gradient)
    target.remove_suffix(1);
  return csv::parse(word.substr(0, arrow), edge.source) && csv::parse(target, edge.target) &&
         csv::parse(word.substr(star + 1), edge.bytes);
}

/// `S4X2Y2`.
static bool parseSlots(std::string_view word, RankTable &rank) {
  while (!word.empty()) {
    std::optional<SlotKind> kind = parseKind(word[0]);
    size_t end = word.find_first_not_of("0123456789", 1);
    end = std::min(end, word.size());
    if (!kind || !csv::parse(word.substr(1, end - 1), rank.slots[static_cast<size_t>(*kind)]))
      return false;
    word.remove_prefix(end);
  }
  return true;
}

/// `+S2:0-`.
static bool parseOperand(std::string_view word, Operand &operand) {
  operand.takes = word.starts_with('+');
  operand.frees = word.ends_with('-');
  word = word.substr(operand.takes, word.size() - operand.takes - operand.frees);
  size_t colon = word.find(':');
  if (word.empty() || colon == word.npos)
    return false;
  std::optional<SlotKind> kind = parseKind(word[0]);
  operand.kind = kind.value_or(SlotKind::X);
  return kind && csv::parse(word.substr(1, colon - 1), operand.stage) &&
         csv::parse(word.substr(colon + 1), operand.slot);
}

static bool readTableHeader(std::string_view line, Table &table, CsvError &error) {
  csv::Header header(line, "full");
  int clip = 0;
  header.text("name", table.name);
  header.number("p", 1, table.ranks);
  header.number("v", 1, table.chunks);
  header.number("m", 1, table.micros);
  header.numbers("place", table.place);
  header.numbers("tied", table.tied);
  header.number("clip", 0, clip);
  header.number("dp", 1, table.copies);
  header.number("zero", 0, table.zero);
  table.clip = clip != 0;
  for (std::string_view word : csv::words(header.value("edges")))
    if (!parseEdge(word, table.edges.emplace_back()))
      header.fail("'" + std::string(word) + "' is no edge such as 0>1*4096");
  // A rank without slots is an empty word.
  for (std::string_view word : csv::split(header.value("slots"), ' '))
    if (!parseSlots(csv::trim(word), table.tables.emplace_back()))
      header.fail("'" + std::string(word) + "' are no counts of slots such as S4X2");
  if (!header.error().empty())
    error = {1, 0, header.error()};
  return header.error().empty();
}

static std::optional<Op> parseOp(std::string_view word) {
  for (unsigned op = 1; op < kOps; ++op)
    if (word == name(static_cast<Op>(op)))
      return static_cast<Op>(op);
  return std::nullopt;
}

static Group parseGroup(std::string_view word) {
  for (Group group : {Group::None, Group::Dp, Group::Tie, Group::All})
    if (word == name(group))
      return group;
  return Group::Unknown;
}

/// Reads one line of a table into the list of its rank. Returns what is wrong with it.
static std::string readInstruction(std::string_view line, Table &table) {
  std::vector<std::string_view> cells = csv::split(line, ',');
  for (std::string_view &cell : cells)
    cell = csv::trim(cell);
  if (cells.size() != 11)
    return "expected 11 cells, found " + std::to_string(cells.size());
  size_t rank = 0;
  if (!csv::parse(cells[0], rank) || rank >= table.tables.size())
    return "there is no rank '" + std::string(cells[0]) + "'";
  std::optional<Op> op = parseOp(cells[2]);
  if (!op)
    return "there is no instruction '" + std::string(cells[2]) + "'";
  Instruction &at = table.tables[rank].instructions.emplace_back();
  at.op = *op;
  int *numbers[] = {&at.stage, &at.micro, &at.peer, &at.edge, &at.batch};
  for (size_t i = 0; i < std::size(numbers); ++i)
    if (std::string_view cell = cells[3 + i]; !cell.empty() && !csv::parse(cell, *numbers[i]))
      return "'" + std::string(cell) + "' is no number";
  at.group = parseGroup(cells[8]);
  at.init = cells[9] == "1";
  for (std::string_view word : csv::words(cells[10]))
    if (!parseOperand(word, at.operands.emplace_back()))
      return "'" + std::string(word) + "' is no operand such as +S2:0-";
  return {};
}

std::optional<Table> readTable(std::string_view text, CsvError &error) {
  std::vector<std::string_view> lines = csv::lines(text);
  Table table;
  if (!readTableHeader(lines.empty() ? "" : lines[0], table, error))
    return std::nullopt;
  for (size_t i = 2; i < lines.size(); ++i) {
    std::string message = readInstruction(lines[i], table);
    if (!message.empty()) {
      error = {static_cast<int>(i) + 1, 0, message};
      return std::nullopt;
    }
  }
  return table;
}

} // namespace ptlc::schedule
