//===- VerifyRun.cpp - No rank waits for ever -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One run in which every message blocks decides: what an instruction waits for are counters that
// only grow, and each rank is sequential, so all runs as far as they go end in the same state.
//
// The n-th send of a channel completes when the n-th receive is posted or fewer than `depth`
// messages wait; the n-th receive when the n-th send is posted. A group of messages is posted at
// once and completes as a whole; a collective completes when all members of its group have come to
// theirs of that number. A rank is looked at again only when something that it may wait for has
// happened.
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/VerifyPhases.h"

#include <deque>
#include <map>

namespace ptlc::schedule {

namespace {
class BlockingRun {
public:
  BlockingRun(const Table &table, int depth)
      : table(table), depth(depth), groups(table), ranks(table.tables.size()),
        arrivals(groups.count()) {
    for (Rank &rank : ranks)
      rank.issued.resize(groups.count());
  }

  std::vector<std::optional<size_t>> run() {
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      wake(rank);
    while (!queue.empty()) {
      size_t rank = queue.front();
      queue.pop_front();
      ranks[rank].isQueued = false;
      while (ranks[rank].position < listOf(rank).size() && step(rank)) {
      }
    }
    std::vector<std::optional<size_t>> ends;
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      ends.push_back(standsAt(rank));
    return ends;
  }

private:
  struct Channel {
    int sent = 0, posted = 0, received = 0;
  };
  /// A message of the current group that has not completed.
  struct Pending {
    size_t position;
    Channel *channel;
    int number;
    size_t peer;
  };
  struct Rank {
    size_t position = 0;
    bool isPosted = false, isQueued = false;
    std::vector<Pending> pending;
    std::vector<int> issued; ///< collectives per group
  };

  const std::vector<Instruction> &listOf(size_t rank) const {
    return table.tables[rank].instructions;
  }

  void wake(size_t rank) {
    if (!ranks[rank].isQueued)
      queue.push_back(rank);
    ranks[rank].isQueued = true;
  }

  std::optional<size_t> standsAt(size_t rank) const {
    const Rank &own = ranks[rank];
    if (own.position == listOf(rank).size())
      return std::nullopt;
    return own.pending.empty() ? own.position : own.pending.front().position;
  }

  void pass(size_t rank, size_t end) {
    ranks[rank].position = end;
    ranks[rank].isPosted = false;
  }

  /// Returns whether the rank got on.
  bool step(size_t rank) {
    const Instruction &at = listOf(rank)[ranks[rank].position];
    if (isMessage(at.op))
      return stepMessages(rank);
    if (!isCollective(at.op) || stepCollective(rank, at)) {
      pass(rank, ranks[rank].position + 1);
      return true;
    }
    return false;
  }

  bool stepCollective(size_t rank, const Instruction &at) {
    size_t group = groups.of(at.group, rank);
    Rank &own = ranks[rank];
    const std::vector<size_t> &members = groups.members(group);
    if (!own.isPosted) {
      own.isPosted = true;
      size_t number = own.issued[group]++;
      if (arrivals[group].size() <= number)
        arrivals[group].resize(number + 1);
      if (++arrivals[group][number] == members.size())
        for (size_t member : members)
          wake(member);
    }
    return arrivals[group][own.issued[group] - 1] == members.size();
  }

  void post(size_t rank, size_t end) {
    size_t copy = rank / table.ranks * table.ranks;
    for (size_t i = ranks[rank].position; i < end; ++i) {
      const Instruction &at = listOf(rank)[i];
      size_t peer = copy + at.peer;
      bool sends = isSend(at.op);
      Channel &channel = channels[sends ? std::pair(rank, peer) : std::pair(peer, rank)];
      int number = sends ? channel.sent++ : channel.posted++;
      ranks[rank].pending.push_back({i, &channel, number, peer});
      wake(peer);
    }
  }

  bool stepMessages(size_t rank) {
    Rank &own = ranks[rank];
    size_t end = unitEnd(listOf(rank), own.position);
    if (!own.isPosted)
      post(rank, end);
    own.isPosted = true;
    std::erase_if(own.pending, [&](const Pending &pending) {
      Channel &channel = *pending.channel;
      if (isSend(listOf(rank)[pending.position].op))
        return channel.posted > pending.number || pending.number < channel.received + depth;
      if (channel.sent <= pending.number)
        return false;
      ++channel.received;
      wake(pending.peer);
      return true;
    });
    if (!own.pending.empty())
      return false;
    pass(rank, end);
    return true;
  }

  const Table &table;
  int depth;
  Groups groups;
  std::vector<Rank> ranks;
  std::vector<std::vector<size_t>> arrivals; ///< [group][number]
  std::map<std::pair<size_t, size_t>, Channel> channels;
  std::deque<size_t> queue;
};
} // namespace

std::vector<std::optional<size_t>> runBlocking(const Table &table, int depth) {
  return BlockingRun(table, depth).run();
}

void verifyRun(const Table &table, int depth, Mistakes &mistakes) {
  std::vector<std::optional<size_t>> ends = runBlocking(table, depth);
  for (size_t rank = 0; rank < ends.size(); ++rank) {
    if (!ends[rank])
      continue;
    const Instruction &at = table.tables[rank].instructions[*ends[rank]];
    std::string why = "a member of its group never arrives";
    if (isMessage(at.op)) {
      size_t peer = rank / table.ranks * table.ranks + at.peer;
      why = "rank " + std::to_string(peer) + " has finished";
      if (ends[peer])
        why = "rank " + std::to_string(peer) + " stands at position " +
              std::to_string(*ends[peer]) + ": " +
              text(table.tables[peer].instructions[*ends[peer]]);
    }
    mistakes.at("DEADLOCK", rank, *ends[rank],
                "never completes with buffers for " + std::to_string(depth) + " messages; " + why);
  }
}

} // namespace ptlc::schedule
