//===- Table.cpp - What every rank of a pipeline does in a step -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Names, texts and the usual placements.
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/Table.h"

#include <algorithm>

namespace ptlc::schedule {

bool Table::tiedAcrossRanks() const {
  return std::any_of(tied.begin(), tied.end(),
                     [&](int stage) { return place[stage] != place[tied.front()]; });
}

std::string_view name(Op op) {
  static constexpr std::string_view names[kOps] = {
      "",       "F",      "B",      "W",    "BW",     "LOSS", "SEND_A", "RECV_A",
      "SEND_G", "RECV_G", "GATHER", "FREE", "REDUCE", "TIE",  "NORM",   "OPT"};
  return names[static_cast<size_t>(op)];
}

char name(SlotKind kind) { return "XSYGDC"[static_cast<size_t>(kind)]; }

std::string_view name(Group group) {
  static constexpr std::string_view names[] = {"", "dp", "tie", "all", "?"};
  return names[static_cast<size_t>(group)];
}

std::string text(const Instruction &instruction) {
  std::string result(name(instruction.op));
  if (instruction.stage >= 0)
    result += " s" + std::to_string(instruction.stage);
  if (instruction.micro >= 0)
    result += " m" + std::to_string(instruction.micro);
  if (instruction.peer >= 0)
    result += " peer" + std::to_string(instruction.peer);
  if (instruction.group != Group::None)
    result += " " + std::string(name(instruction.group));
  return result;
}

std::string text(const Operand &operand) {
  return (operand.takes ? "+" : "") + std::string(1, name(operand.kind)) +
         std::to_string(operand.stage) + ":" + std::to_string(operand.slot) +
         (operand.frees ? "-" : "");
}

std::vector<Edge> chain(int stages, uint64_t bytes) {
  std::vector<Edge> edges;
  for (int stage = 0; stage + 1 < stages; ++stage)
    edges.push_back({stage, stage + 1, true, bytes});
  return edges;
}

std::vector<int> roundRobin(int ranks, int chunks) {
  std::vector<int> place;
  for (int stage = 0; stage < ranks * chunks; ++stage)
    place.push_back(stage % ranks);
  return place;
}

std::vector<int> snake(int ranks, int chunks) {
  std::vector<int> place;
  for (int stage = 0; stage < ranks * chunks; ++stage) {
    bool down = (stage / ranks) % 2 == 0;
    place.push_back(down ? stage % ranks : ranks - 1 - stage % ranks);
  }
  return place;
}

size_t unitEnd(const std::vector<Instruction> &instructions, size_t begin) {
  const Instruction &first = instructions[begin];
  size_t end = begin + 1;
  if (isMessage(first.op) && first.batch != 0)
    while (end < instructions.size() && isMessage(instructions[end].op) &&
           instructions[end].batch == first.batch)
      ++end;
  return end;
}

} // namespace ptlc::schedule
