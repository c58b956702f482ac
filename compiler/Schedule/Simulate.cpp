//===- Simulate.cpp - Plays a table with costs ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A rank works through its list. A computation begins when the rank is free, what it receives has
// arrived, the sends that still read a slot it takes have ended, and its weights are gathered. A
// message starts when both sides have posted it and its channel is free; it arrives after latency +
// bytes / bandwidth and keeps the channel busy for bytes / bandwidth. A collective ends a cost
// after its last member has come to it; updates wait for it, other work doesn't.
//
// Times only depend on what is known already, so ranks can be run in turns, each as far as it goes.
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/Simulate.h"
#include "compiler/Schedule/VerifyPhases.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>

namespace ptlc::schedule {

double Costs::of(Op op, int stage) const {
  auto at = [&](const std::vector<double> &list) { return list[list.size() == 1 ? 0 : stage]; };
  switch (op) {
  case Op::F:
    return at(forward);
  case Op::B:
    return at(backward);
  case Op::W:
    return at(weight);
  case Op::BW:
    return both.empty() ? at(backward) + at(weight) : at(both);
  case Op::Loss:
    return at(loss);
  case Op::Opt:
    return at(update);
  case Op::Gather:
    return at(gather);
  case Op::Reduce:
    return at(reduce);
  case Op::Tie:
    return tie;
  case Op::Norm:
    return norm;
  default:
    return 0;
  }
}

double Simulation::period() const {
  double most = 0;
  for (size_t rank = 0; rank < first.size(); ++rank)
    most = std::max(most, last[rank] - first[rank]);
  return most;
}

static constexpr double kUnknown = -1;

namespace {
/// Messages of one directed pair of ranks.
struct Channel {
  struct Send {
    double time;
    size_t position;
  };
  std::vector<Send> sends;
  std::vector<double> receives; ///< when they were posted
  std::vector<double> ends;     ///< of the messages that are done
  double free = 0;
};

/// The messages of a table, and when each arrives.
class Network {
public:
  Network(const Table &table, const Costs &costs, Simulation &result)
      : table(table), costs(costs), result(result), leaving(table.tables.size()),
        arriving(table.tables.size()),
        arrivals(table.tables.size() / table.ranks * table.edges.size() * table.micros * 2,
                 kUnknown) {}

  /// Posts a message of `rank` at `time`.
  void post(size_t rank, size_t position, double time) {
    const Instruction &at = table.tables[rank].instructions[position];
    size_t peer = rank / table.ranks * table.ranks + at.peer;
    bool sends = isSend(at.op);
    std::pair<size_t, size_t> ends = sends ? std::pair(rank, peer) : std::pair(peer, rank);
    Channel &channel = channels[ends];
    if (sends)
      channel.sends.push_back({time, position});
    else
      channel.receives.push_back(time);
    push(ends.first, ends.second, channel);
  }

  /// When the message of an instruction arrives; kUnknown: that isn't decided yet.
  double arrival(size_t rank, const Instruction &at) const {
    return arrivals[indexOf(rank, at.op == Op::SendG || at.op == Op::RecvG, at.edge, at.micro)];
  }
  double arrival(size_t rank, bool isGradient, int edge, int micro) const {
    return arrivals[indexOf(rank, isGradient, edge, micro)];
  }

private:
  /// Each side of an edge belongs to one rank of a copy.
  size_t indexOf(size_t rank, bool isGradient, int edge, int micro) const {
    size_t copy = rank / table.ranks;
    return ((copy * table.edges.size() + edge) * table.micros + micro) * 2 + isGradient;
  }

  /// The earliest start of the channel's next message; nullopt: it can't start yet.
  std::optional<double> nextStart(size_t from, size_t to, const Channel &channel) const {
    size_t next = channel.ends.size(), depth = static_cast<size_t>(costs.depth);
    if (next == channel.sends.size())
      return std::nullopt;
    double start = std::max(channel.sends[next].time, channel.free);
    if (next >= depth) {
      // The buffer that it needs was emptied by this receive.
      if (channel.receives.size() <= next - depth)
        return std::nullopt;
      start = std::max(start, channel.receives[next - depth]);
      if (depth > 0)
        start = std::max(start, channel.ends[next - depth]);
    }
    if (costs.sharedWire)
      start = std::max({start, leaving[from], arriving[to]});
    return start;
  }

  /// Moves all messages of a channel that both sides have posted.
  void push(size_t from, size_t to, Channel &channel) {
    while (std::optional<double> start = nextStart(from, to, channel)) {
      size_t position = channel.sends[channel.ends.size()].position;
      const Instruction &at = table.tables[from].instructions[position];
      const Link &link = costs.between(static_cast<int>(from % table.ranks),
                                       static_cast<int>(to % table.ranks), table.ranks);
      double busy = static_cast<double>(table.edges[at.edge].bytes) / link.bandwidth;
      channel.free = *start + busy;
      if (costs.sharedWire)
        leaving[from] = arriving[to] = channel.free;
      double end = *start + link.latency + busy;
      channel.ends.push_back(end);
      arrivals[indexOf(from, at.op == Op::SendG, at.edge, at.micro)] = end;
      result.transfers.push_back(
          {static_cast<int>(from), static_cast<int>(to), *start, end, position});
    }
  }

  const Table &table;
  const Costs &costs;
  Simulation &result;
  std::map<std::pair<size_t, size_t>, Channel> channels;
  std::vector<double> leaving, arriving; ///< when each rank's shared wire is free
  std::vector<double> arrivals;
};

class Player {
public:
  Player(const Table &table, const Costs &costs)
      : table(table), costs(costs), network(table, costs, result), groups(table),
        ranks(table.tables.size()), collectives(groups.count()), into(table.place.size()),
        outOf(table.place.size()) {
    for (size_t k = 0; k < table.edges.size(); ++k) {
      const Edge &edge = table.edges[k];
      if (table.place[edge.source] == table.place[edge.target])
        continue;
      into[edge.target].push_back(static_cast<int>(k));
      if (edge.gradient)
        outOf[edge.source].push_back(static_cast<int>(k));
    }
    for (Rank &rank : ranks) {
      rank.issued.resize(groups.count());
      rank.gathered.resize(table.place.size());
    }
    result.busy.resize(ranks.size());
    result.first.assign(ranks.size(), kUnknown);
    result.last.resize(ranks.size());
  }

  std::optional<Simulation> run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t rank = 0; rank < ranks.size(); ++rank) {
        while (ranks[rank].position < listOf(rank).size() && step(rank))
          moved = true;
        while (!ranks[rank].queue.empty() && stepQueue(rank))
          moved = true;
      }
    }
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      if (ranks[rank].position < listOf(rank).size())
        return std::nullopt;
      result.makespan = std::max(result.makespan, ranks[rank].now);
      result.first[rank] = std::max(result.first[rank], 0.0);
    }
    return std::move(result);
  }

private:
  /// A group of messages [begin, end) that waits in a rank's only queue.
  struct Unit {
    double time;
    size_t begin, end;
    bool isPosted;
  };
  struct Rank {
    double now = 0;
    size_t position = 0;
    bool isPosted = false;
    std::vector<int> issued;                ///< collectives per group
    std::vector<double> gathered;           ///< when each stage's weights are there
    double collectiveFree = 0, reduced = 0; ///< the last collective ended; the last of gradients
    std::map<std::pair<SlotKind, int>, std::vector<size_t>> reads; ///< sends that read a slot
    std::deque<Unit> queue;                                        ///< Overlap::Rank
    double queueFree = 0;
  };
  /// A collective that some members have come to.
  struct Meeting {
    size_t arrived = 0;
    double time = 0;
  };

  const std::vector<Instruction> &listOf(size_t rank) const {
    return table.tables[rank].instructions;
  }

  bool step(size_t rank) {
    Rank &own = ranks[rank];
    const Instruction &at = listOf(rank)[own.position];
    size_t end = unitEnd(listOf(rank), own.position);
    bool done = isMessage(at.op)      ? stepMessages(rank, end)
                : isCollective(at.op) ? stepCollective(rank, at)
                                      : stepCompute(rank, at);
    if (done) {
      own.position = end;
      own.isPosted = false;
    }
    return done;
  }

  /// When all messages of [begin, end) have arrived, at least `least`; nullopt: not decided yet.
  std::optional<double> arrivalOf(size_t rank, size_t begin, size_t end, double least) const {
    for (size_t i = begin; i < end; ++i) {
      double arrival = network.arrival(rank, listOf(rank)[i]);
      if (arrival == kUnknown)
        return std::nullopt;
      least = std::max(least, arrival);
    }
    return least;
  }

  bool stepMessages(size_t rank, size_t end) {
    Rank &own = ranks[rank];
    if (!own.isPosted) {
      if (costs.overlap == Overlap::Rank)
        own.queue.push_back({own.now, own.position, end, false});
      for (size_t i = own.position; i < end && costs.overlap != Overlap::Rank; ++i)
        network.post(rank, i, own.now);
      own.isPosted = true;
    }
    if (costs.overlap == Overlap::Off) {
      std::optional<double> arrival = arrivalOf(rank, own.position, end, own.now);
      own.now = arrival.value_or(own.now);
      return arrival.has_value();
    }
    for (size_t i = own.position; i < end; ++i)
      if (isSend(listOf(rank)[i].op))
        for (const Operand &operand : listOf(rank)[i].operands)
          own.reads[{operand.kind, operand.slot}].push_back(i);
    return true;
  }

  /// The only queue of a rank: a group starts when it is posted and the one before has ended.
  bool stepQueue(size_t rank) {
    Rank &own = ranks[rank];
    Unit &unit = own.queue.front();
    bool moved = !unit.isPosted;
    for (size_t i = unit.begin; moved && i < unit.end; ++i)
      network.post(rank, i, std::max(unit.time, own.queueFree));
    unit.isPosted = true;
    std::optional<double> arrival = arrivalOf(rank, unit.begin, unit.end, 0);
    if (!arrival)
      return moved;
    own.queueFree = *arrival;
    own.queue.pop_front();
    return true;
  }

  bool stepCollective(size_t rank, const Instruction &at) {
    Rank &own = ranks[rank];
    size_t group = groups.of(at.group, rank);
    if (!own.isPosted) {
      size_t number = own.issued[group]++;
      if (collectives[group].size() <= number)
        collectives[group].resize(number + 1);
      Meeting &meeting = collectives[group][number];
      double time = std::max(own.now, own.collectiveFree);
      meeting.time = std::max(meeting.time, time);
      ++meeting.arrived;
      own.isPosted = true;
    }
    const Meeting &meeting = collectives[group][own.issued[group] - 1];
    if (meeting.arrived < groups.members(group).size())
      return false;
    double cost = costs.of(at.op, at.stage), end = meeting.time + cost;
    own.collectiveFree = end;
    if (at.op == Op::Gather)
      own.gathered[at.stage] = end;
    else if (at.op != Op::Norm || table.clip)
      own.reduced = std::max(own.reduced, end);
    if (costs.overlap == Overlap::Off || (at.op == Op::Norm && table.clip))
      own.now = std::max(own.now, end);
    if (cost > 0)
      result.spans.push_back({static_cast<int>(rank), end - cost, end, own.position});
    return true;
  }

  /// Makes `start` at least the arrival of the messages of `edges`.
  bool waitFor(size_t rank, const std::vector<int> &edges, bool isGradient, int micro,
               double &start) const {
    for (int edge : edges) {
      double arrival = network.arrival(rank, isGradient, edge, micro);
      if (arrival == kUnknown)
        return false;
      start = std::max(start, arrival);
    }
    return true;
  }

  /// Makes `start` at least the end of the sends that read a slot which `at` takes.
  bool waitForSlots(size_t rank, const Instruction &at, double &start) {
    for (const Operand &operand : at.operands) {
      bool isSent = operand.kind == SlotKind::Y || operand.kind == SlotKind::D;
      if (!operand.takes || !isSent)
        continue;
      for (size_t position : ranks[rank].reads[{operand.kind, operand.slot}]) {
        double end = network.arrival(rank, listOf(rank)[position]);
        if (end == kUnknown)
          return false;
        start = std::max(start, end);
      }
      ranks[rank].reads[{operand.kind, operand.slot}].clear();
    }
    return true;
  }

  bool stepCompute(size_t rank, const Instruction &at) {
    Rank &own = ranks[rank];
    double start = own.now;
    if (costs.overlap != Overlap::Off) {
      if (at.op == Op::F && !waitFor(rank, into[at.stage], false, at.micro, start))
        return false;
      if (isBackward(at.op) && !waitFor(rank, outOf[at.stage], true, at.micro, start))
        return false;
      if (!waitForSlots(rank, at, start))
        return false;
    }
    bool usesWeights = isCompute(at.op) && at.op != Op::Loss;
    if (usesWeights)
      start = std::max(start, own.gathered[at.stage]);
    if (at.op == Op::Opt)
      start = std::max(start, own.reduced);
    double end = start + costs.of(at.op, at.stage);
    own.now = end;
    if (end == start && !usesWeights)
      return true;
    result.spans.push_back({static_cast<int>(rank), start, end, own.position});
    result.busy[rank] += end - start;
    if (result.first[rank] == kUnknown)
      result.first[rank] = start;
    result.last[rank] = std::max(result.last[rank], end);
    return true;
  }

  const Table &table;
  const Costs &costs;
  Simulation result;
  Network network;
  Groups groups;
  std::vector<Rank> ranks;
  std::vector<std::vector<Meeting>> collectives; ///< [group][number]
  std::vector<std::vector<int>> into, outOf;     ///< edges of each stage that are messages
};
} // namespace

std::optional<Simulation> simulate(const Table &table, const Costs &costs) {
  return Player(table, costs).run();
}

} // namespace ptlc::schedule
