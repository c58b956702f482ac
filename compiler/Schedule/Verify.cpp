//===- Verify.cpp - Proves that a table runs and computes the right sums --===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/VerifyPhases.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

namespace ptlc::schedule {

Groups::Groups(const Table &table) {
  ranks = table.ranks;
  copies = table.tables.size() / ranks;
  lists.resize(ranks + copies + 1);
  std::set<int> tiedRanks;
  for (int stage : table.tied)
    tiedRanks.insert(table.place[stage]);
  for (size_t rank = 0; rank < ranks * copies; ++rank) {
    lists[rank % ranks].push_back(rank);
    lists.back().push_back(rank);
    if (tiedRanks.count(static_cast<int>(rank % ranks)))
      lists[ranks + rank / ranks].push_back(rank);
  }
}

size_t Groups::of(Group group, size_t rank) const {
  if (group == Group::Dp)
    return rank % ranks;
  return group == Group::Tie ? ranks + rank / ranks : ranks + copies;
}

/// Mistakes of one place stay in the order in which they were found.
static void sortByPlace(std::vector<Mistake> &list) {
  std::vector<size_t> order(list.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tie(list[a].rank, list[a].position, a) <
           std::tie(list[b].rank, list[b].position, b);
  });
  std::vector<Mistake> sorted;
  for (size_t i : order)
    sorted.push_back(std::move(list[i]));
  list = std::move(sorted);
}

std::vector<Mistake> verify(const Table &table, const VerifyOptions &options) {
  Mistakes mistakes(table);
  auto failed = [&](auto phase, const auto &...arguments) {
    phase(table, arguments..., mistakes);
    return !mistakes.list.empty();
  };
  bool anyFailed = failed(verifyShape) || failed(verifyOnce) || failed(verifyChannels) ||
                   failed(verifyCollectives) || failed(verifyLocalOrder) || failed(verifySlots) ||
                   failed(verifyRun, options.depth) || (options.strict && failed(verifySums)) ||
                   (!options.limit.empty() && failed(verifyMemory, options.limit));
  if (anyFailed)
    sortByPlace(mistakes.list);
  return std::move(mistakes.list);
}

std::optional<int> leastDepth(const Table &table, int most) {
  for (int depth = 0; depth <= most; ++depth) {
    std::vector<std::optional<size_t>> ends = runBlocking(table, depth);
    if (std::none_of(ends.begin(), ends.end(), [](auto at) { return at.has_value(); }))
      return depth;
  }
  return std::nullopt;
}

std::vector<int> peak(const Table &table, std::string_view kinds) {
  std::vector<int> peaks;
  for (const RankTable &rank : table.tables) {
    const std::vector<Instruction> &list = rank.instructions;
    int now = 0, most = 0;
    for (size_t begin = 0, end; begin < list.size(); begin = end) {
      end = unitEnd(list, begin);
      int freed = 0;
      for (size_t i = begin; i < end; ++i)
        for (const Operand &operand : list[i].operands)
          if (kinds.find(name(operand.kind)) != kinds.npos) {
            now += operand.takes;
            freed += operand.frees;
          }
      most = std::max(most, now);
      now -= freed;
    }
    peaks.push_back(most);
  }
  return peaks;
}

void verifySums(const Table &table, Mistakes &mistakes) {
  for (size_t rank = 0; rank < table.tables.size(); ++rank) {
    std::vector<int> last(table.place.size(), -1);
    const std::vector<Instruction> &list = table.tables[rank].instructions;
    for (size_t i = 0; i < list.size(); ++i) {
      if (!isWeightGradient(list[i].op))
        continue;
      int &before = last[list[i].stage];
      if (list[i].micro < before)
        mistakes.at("ACCUMULATION_ORDER", rank, i,
                    "after micro-batch " + std::to_string(before) +
                        ": the order of the sum differs from that of one device");
      if (list[i].init != (before < 0))
        mistakes.at("INIT", rank, i,
                    list[i].init ? "a later sum overwrites" : "the first sum must overwrite");
      before = list[i].micro;
    }
  }
}

void verifyMemory(const Table &table, const std::vector<int> &limit, Mistakes &mistakes) {
  for (size_t rank = 0; rank < table.tables.size(); ++rank) {
    int most = limit[limit.size() == 1 ? 0 : rank % table.ranks], now = 0;
    const std::vector<Instruction> &list = table.tables[rank].instructions;
    for (size_t i = 0; i < list.size(); ++i) {
      for (const Operand &operand : list[i].operands)
        now += operand.kind == SlotKind::S && operand.takes;
      if (now > most) {
        mistakes.at("MEMORY", rank, i,
                    std::to_string(now) + " stashes alive, " + std::to_string(most) + " planned");
        break;
      }
      for (const Operand &operand : list[i].operands)
        now -= operand.kind == SlotKind::S && operand.frees;
    }
  }
}

std::string text(const Mistake &mistake) {
  return "rank " + std::to_string(mistake.rank) + ", position " + std::to_string(mistake.position) +
         ": " + mistake.message + " [" + std::string(mistake.code) + "]";
}

} // namespace ptlc::schedule
