//===- VerifyMessages.cpp - Both sides see the same order -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/VerifyPhases.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace ptlc::schedule {

namespace {
/// One end of a message.
struct End {
  size_t rank, position;
  uint64_t what; ///< kind, edge and micro-batch
};

struct Channel {
  std::vector<End> sends, receives;
};
} // namespace

using Channels = std::map<std::pair<size_t, size_t>, Channel>; // (from, to)

static Channels channelsOf(const Table &table) {
  Channels channels;
  for (size_t rank = 0; rank < table.tables.size(); ++rank) {
    size_t copy = rank / table.ranks * table.ranks;
    const std::vector<Instruction> &list = table.tables[rank].instructions;
    for (size_t i = 0; i < list.size(); ++i) {
      if (!isMessage(list[i].op))
        continue;
      size_t peer = copy + list[i].peer;
      bool isGradient = list[i].op == Op::SendG || list[i].op == Op::RecvG;
      uint64_t what = (static_cast<uint64_t>(list[i].edge) * 2 + isGradient) << 32 |
                      static_cast<uint32_t>(list[i].micro);
      if (isSend(list[i].op))
        channels[{rank, peer}].sends.push_back({rank, i, what});
      else
        channels[{peer, rank}].receives.push_back({rank, i, what});
    }
  }
  return channels;
}

/// Reports ends of `list` that are more than the ends of `others`. Returns whether there are any.
static bool findUnpaired(const Table &table, std::string_view code, const std::string &channel,
                         const std::vector<End> &list, const std::vector<End> &others,
                         Mistakes &mistakes) {
  std::unordered_map<uint64_t, int> left;
  for (const End &other : others)
    ++left[other.what];
  bool found = false;
  for (const End &end : list)
    if (left[end.what]-- <= 0) {
      int edge = table.tables[end.rank].instructions[end.position].edge;
      mistakes.at(code, end.rank, end.position,
                  channel + " has no partner for it, edge " + std::to_string(edge));
      found = true;
    }
  return found;
}

void verifyChannels(const Table &table, Mistakes &mistakes) {
  for (const auto &[ends, channel] : channelsOf(table)) {
    std::string its = "channel " + std::to_string(ends.first) + ">" + std::to_string(ends.second);
    bool bad =
        findUnpaired(table, "SEND_WITHOUT_RECV", its, channel.sends, channel.receives, mistakes);
    bad |= findUnpaired(table, "RECV_WITHOUT_SEND", its, channel.receives, channel.sends, mistakes);
    for (size_t i = 0; !bad && i < channel.sends.size(); ++i) {
      const End &send = channel.sends[i], &receive = channel.receives[i];
      if (send.what == receive.what)
        continue;
      mistakes.at("CHANNEL_ORDER", receive.rank, receive.position,
                  its + " delivers " + text(table.tables[send.rank].instructions[send.position]) +
                      " (rank " + std::to_string(send.rank) + " position " +
                      std::to_string(send.position) + ") first");
      bad = true;
    }
  }
}

/// Positions of the collectives of `rank` in its group `group`.
static std::vector<size_t> collectivesOf(const Table &table, size_t rank, Group group) {
  std::vector<size_t> positions;
  const std::vector<Instruction> &list = table.tables[rank].instructions;
  for (size_t i = 0; i < list.size(); ++i)
    if (isCollective(list[i].op) && list[i].group == group)
      positions.push_back(i);
  return positions;
}

/// Compares the collectives of `rank` with those of the first member of its group.
static void compareCollectives(const Table &table, Group group, size_t first, size_t rank,
                               Mistakes &mistakes) {
  std::vector<size_t> expected = collectivesOf(table, first, group),
                      found = collectivesOf(table, rank, group);
  auto key = [](const Instruction &at) {
    bool ofStage = at.op != Op::Tie && at.op != Op::Norm;
    return std::pair(at.op, ofStage ? at.stage : -1);
  };
  std::string its = "group " + std::string(name(group)) + ": rank " + std::to_string(first);
  for (size_t k = 0; k < std::max(expected.size(), found.size()); ++k) {
    std::string issues = its + " issues nothing";
    if (k < expected.size())
      issues = its + " issues " + text(table.tables[first].instructions[expected[k]]) +
               " (position " + std::to_string(expected[k]) + ")";
    if (k >= found.size())
      return mistakes.atEnd("COLLECTIVE_ORDER", rank, issues + ", this rank nothing");
    if (k >= expected.size() || key(table.tables[first].instructions[expected[k]]) !=
                                    key(table.tables[rank].instructions[found[k]]))
      return mistakes.at("COLLECTIVE_ORDER", rank, found[k],
                         issues + " as number " + std::to_string(k));
  }
}

void verifyCollectives(const Table &table, Mistakes &mistakes) {
  Groups groups(table);
  for (Group group : {Group::Dp, Group::Tie, Group::All})
    for (size_t rank = 0; rank < table.tables.size(); ++rank) {
      const std::vector<size_t> &members = groups.members(groups.of(group, rank));
      bool isMember =
          group != Group::Tie || std::find(members.begin(), members.end(), rank) != members.end();
      if (isMember && rank != members.front())
        compareCollectives(table, group, members.front(), rank, mistakes);
    }
}

} // namespace ptlc::schedule
