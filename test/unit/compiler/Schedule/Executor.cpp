//===- Executor.cpp - Runs tables on values, in random interleavings ------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/unit/compiler/Schedule/Executor.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace ptlc::schedule {

static uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9e3779b97f4a7c15 + b + 0x632be59bd9b4e019;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

namespace {
/// What a slot, or a stage's bundle of values, holds.
struct Values {
  uint64_t own = 0;
  std::map<int, uint64_t> ofEdge;

  uint64_t all() const {
    uint64_t hash = own;
    for (auto [edge, value] : ofEdge)
      hash = mix(mix(hash, static_cast<uint64_t>(edge)), value);
    return hash;
  }
};
} // namespace

static uint64_t forward(int stage, int micro, const Values &inputs) {
  return mix(mix(mix(1, static_cast<uint64_t>(stage)), static_cast<uint64_t>(micro)), inputs.all());
}
static uint64_t lossOf(uint64_t stash) { return mix(2, stash); }
static uint64_t backward(const Values &inputs, uint64_t stash, const Values &gradients) {
  return mix(mix(mix(3, inputs.all()), stash), gradients.all());
}
static uint64_t weight(const Values &inputs, uint64_t stash, const Values &gradients,
                       uint64_t context) {
  return mix(mix(mix(mix(4, inputs.all()), stash), gradients.all()), context);
}
static uint64_t onEdge(uint64_t value, int edge) { return mix(mix(5, value), edge); }
static uint64_t sum(uint64_t before, uint64_t term) { return mix(mix(6, before), term); }
static uint64_t update(uint64_t gradient, uint64_t tied) { return mix(mix(7, gradient), tied); }

Outcome expectedOutcome(const Table &table) {
  Outcome outcome;
  std::vector<uint64_t> sums(table.place.size());
  int last = table.stages() - 1;
  for (int micro = 0; micro < table.micros; ++micro) {
    std::vector<Values> inputs(table.place.size()), gradients(table.place.size());
    std::vector<uint64_t> stashes(table.place.size());
    for (int stage = 0; stage <= last; ++stage) {
      stashes[stage] = forward(stage, micro, inputs[stage]);
      for (size_t k = 0; k < table.edges.size(); ++k)
        if (table.edges[k].source == stage)
          inputs[table.edges[k].target].ofEdge[static_cast<int>(k)] =
              onEdge(stashes[stage], static_cast<int>(k));
    }
    outcome.losses.push_back(lossOf(stashes[last]));
    gradients[last].own = outcome.losses.back();
    for (int stage = last; stage >= 0; --stage) {
      uint64_t context = backward(inputs[stage], stashes[stage], gradients[stage]);
      uint64_t term = weight(inputs[stage], stashes[stage], gradients[stage], context);
      sums[stage] = micro == 0 ? term : sum(sums[stage], term);
      for (size_t k = 0; k < table.edges.size(); ++k)
        if (table.edges[k].target == stage && table.edges[k].gradient)
          gradients[table.edges[k].source].ofEdge[static_cast<int>(k)] =
              onEdge(context, static_cast<int>(k));
    }
  }
  uint64_t tied = 0;
  for (int stage : table.tied)
    tied = mix(tied, sums[stage]);
  for (int stage = 0; stage <= last; ++stage) {
    bool isTied = std::count(table.tied.begin(), table.tied.end(), stage) > 0;
    outcome.updates.push_back(update(sums[stage], isTied ? tied : 0));
  }
  return outcome;
}

namespace {
class Executor {
public:
  Executor(const Table &table, uint64_t seed)
      : table(table), random(seed), ranks(table.ranks), sums(table.place.size()) {
    outcome.losses.resize(table.micros);
    outcome.updates.resize(table.place.size());
    outcome.mostStashes.resize(table.ranks);
    for (int stage : table.tied)
      tiedRanks.insert(table.place[stage]);
  }

  std::optional<Outcome> run() {
    while (!isFinished()) {
      std::vector<std::pair<int, int>> order; // (rank, -1) or a channel
      for (int rank = 0; rank < table.ranks; ++rank)
        order.emplace_back(rank, -1);
      for (const auto &[ends, channel] : channels)
        order.push_back(ends);
      std::shuffle(order.begin(), order.end(), random);
      bool moved = false;
      for (auto [from, to] : order)
        moved |= to < 0 ? step(from) : transfer(from, to);
      if (!moved)
        return std::nullopt;
    }
    return std::move(outcome);
  }

private:
  struct Rank {
    size_t position = 0;
    int arrived = 0; ///< collectives that it has come to
    bool isWaiting = false;
    std::map<std::pair<SlotKind, int>, Values> slots;
    std::map<std::pair<SlotKind, int>, std::vector<size_t>> reads; ///< sends that read a slot
    std::set<size_t> done;                                         ///< messages
    int stashes = 0;
  };
  struct Channel {
    std::vector<size_t> sends, receives;
    size_t moved = 0;
  };

  const Instruction &at(int rank, size_t position) const {
    return table.tables[rank].instructions[position];
  }
  bool isFinished() const {
    for (int rank = 0; rank < table.ranks; ++rank)
      if (ranks[rank].position < table.tables[rank].instructions.size())
        return false;
    return true;
  }

  Values &slot(int rank, const Instruction &instruction, SlotKind kind, int stage) {
    for (const Operand &operand : instruction.operands)
      if (operand.kind == kind && operand.stage == stage)
        return ranks[rank].slots[{kind, operand.slot}];
    return nothing = {};
  }

  void take(int rank, const Instruction &instruction) {
    for (const Operand &operand : instruction.operands) {
      if (operand.takes)
        ranks[rank].slots[{operand.kind, operand.slot}] = {random(), {{-1, random()}}};
      ranks[rank].stashes += operand.takes && operand.kind == SlotKind::S;
      // Whoever writes first also clears.
      if (operand.takes)
        ranks[rank].slots[{operand.kind, operand.slot}] = {};
    }
    int &most = outcome.mostStashes[rank];
    most = std::max(most, ranks[rank].stashes);
  }
  void release(int rank, const Instruction &instruction) {
    for (const Operand &operand : instruction.operands) {
      ranks[rank].stashes -= operand.frees && operand.kind == SlotKind::S;
      bool isSent = operand.kind == SlotKind::Y || operand.kind == SlotKind::D;
      if (operand.frees && !isSent) // whoever reads it now reads rubbish
        ranks[rank].slots[{operand.kind, operand.slot}] = {random(), {{-1, random()}}};
    }
  }

  /// Moves the next message of a channel if both sides have posted it.
  bool transfer(int from, int to) {
    Channel &channel = channels[{from, to}];
    if (channel.moved >= std::min(channel.sends.size(), channel.receives.size()))
      return false;
    size_t sender = channel.sends[channel.moved], receiver = channel.receives[channel.moved];
    ++channel.moved;
    const Instruction &send = at(from, sender), &receive = at(to, receiver);
    Values &source = slot(from, send, send.op == Op::SendA ? SlotKind::Y : SlotKind::D, send.stage);
    Values &target =
        slot(to, receive, receive.op == Op::RecvA ? SlotKind::X : SlotKind::G, receive.stage);
    target.ofEdge[receive.edge] = source.ofEdge[send.edge];
    ranks[from].done.insert(sender);
    ranks[to].done.insert(receiver);
    return true;
  }

  void post(int rank, size_t position) {
    const Instruction &message = at(rank, position);
    if (isReceive(message.op)) {
      take(rank, message);
      channels[{message.peer, rank}].receives.push_back(position);
      pending[{message.op, message.edge, message.micro}] = position;
      return;
    }
    channels[{rank, message.peer}].sends.push_back(position);
    for (const Operand &operand : message.operands)
      ranks[rank].reads[{operand.kind, operand.slot}].push_back(position);
  }

  /// Whether the messages of `edge` that a computation reads have arrived.
  bool hasArrived(int rank, Op op, int edge, int micro) const {
    auto found = pending.find({op, edge, micro});
    return found != pending.end() && ranks[rank].done.count(found->second);
  }

  bool canCompute(int rank, const Instruction &compute) {
    for (size_t k = 0; k < table.edges.size(); ++k) {
      const Edge &edge = table.edges[k];
      if (table.place[edge.source] == table.place[edge.target])
        continue;
      int index = static_cast<int>(k);
      if (compute.op == Op::F && edge.target == compute.stage &&
          !hasArrived(rank, Op::RecvA, index, compute.micro))
        return false;
      if (isBackward(compute.op) && edge.source == compute.stage && edge.gradient &&
          !hasArrived(rank, Op::RecvG, index, compute.micro))
        return false;
    }
    for (const Operand &operand : compute.operands)
      if (operand.takes)
        for (size_t send : ranks[rank].reads[{operand.kind, operand.slot}])
          if (!ranks[rank].done.count(send))
            return false;
    return true;
  }

  void doForward(int rank, const Instruction &f) {
    Values inputs = slot(rank, f, SlotKind::X, f.stage);
    uint64_t value = forward(f.stage, f.micro, inputs);
    slot(rank, f, SlotKind::S, f.stage).own = value;
    for (size_t k = 0; k < table.edges.size(); ++k) {
      const Edge &edge = table.edges[k];
      if (edge.source != f.stage)
        continue;
      bool local = table.place[edge.target] == rank;
      Values &target =
          local ? slot(rank, f, SlotKind::X, edge.target) : slot(rank, f, SlotKind::Y, f.stage);
      target.ofEdge[static_cast<int>(k)] = onEdge(value, static_cast<int>(k));
    }
  }

  void addWeight(int rank, const Instruction &w, uint64_t context) {
    uint64_t term =
        weight(slot(rank, w, SlotKind::X, w.stage), slot(rank, w, SlotKind::S, w.stage).own,
               slot(rank, w, SlotKind::G, w.stage), context);
    sums[w.stage] = w.init ? term : sum(sums[w.stage], term);
  }

  void doBackward(int rank, const Instruction &b) {
    uint64_t context =
        backward(slot(rank, b, SlotKind::X, b.stage), slot(rank, b, SlotKind::S, b.stage).own,
                 slot(rank, b, SlotKind::G, b.stage));
    for (size_t k = 0; k < table.edges.size(); ++k) {
      const Edge &edge = table.edges[k];
      if (edge.target != b.stage || !edge.gradient)
        continue;
      bool local = table.place[edge.source] == rank;
      Values &target =
          local ? slot(rank, b, SlotKind::G, edge.source) : slot(rank, b, SlotKind::D, b.stage);
      target.ofEdge[static_cast<int>(k)] = onEdge(context, static_cast<int>(k));
    }
    if (b.op == Op::B)
      slot(rank, b, SlotKind::C, b.stage).own = context;
    else
      addWeight(rank, b, context);
  }

  void doUpdate(const Instruction &opt) {
    bool isTied = std::count(table.tied.begin(), table.tied.end(), opt.stage) > 0;
    uint64_t tied = 0;
    for (int stage : table.tied)
      tied = mix(tied, sums[stage]);
    outcome.updates[opt.stage] = update(sums[opt.stage], isTied ? tied : 0);
  }

  void compute(int rank, const Instruction &instruction) {
    take(rank, instruction);
    if (instruction.op == Op::F)
      doForward(rank, instruction);
    else if (isBackward(instruction.op))
      doBackward(rank, instruction);
    else if (instruction.op == Op::W)
      addWeight(rank, instruction, slot(rank, instruction, SlotKind::C, instruction.stage).own);
    else if (instruction.op == Op::Opt)
      doUpdate(instruction);
    if (instruction.op == Op::Loss) {
      uint64_t loss = lossOf(slot(rank, instruction, SlotKind::S, instruction.stage).own);
      slot(rank, instruction, SlotKind::G, instruction.stage).own = loss;
      outcome.losses[instruction.micro] = loss;
    }
    release(rank, instruction);
  }

  /// A collective waits for all of its members.
  bool meet(int rank, const Instruction &collective) {
    Rank &own = ranks[rank];
    std::map<Op, std::set<int>>::mapped_type &arrived = meetings[collective.op];
    arrived.insert(rank);
    size_t members = collective.op == Op::Tie ? tiedRanks.size() : ranks.size();
    if (arrived.size() < members)
      return false;
    ++own.position;
    return true;
  }

  bool step(int rank) {
    Rank &own = ranks[rank];
    const std::vector<Instruction> &list = table.tables[rank].instructions;
    if (own.position == list.size())
      return false;
    const Instruction &instruction = list[own.position];
    if (isCollective(instruction.op))
      return meet(rank, instruction);
    if (!isMessage(instruction.op)) {
      if (!canCompute(rank, instruction))
        return false;
      compute(rank, instruction);
      ++own.position;
      return true;
    }
    size_t end = unitEnd(list, own.position);
    while (own.position < end)
      post(rank, own.position++);
    return true;
  }

  const Table &table;
  std::mt19937_64 random;
  std::vector<Rank> ranks;
  std::vector<uint64_t> sums;
  std::map<std::pair<int, int>, Channel> channels;
  std::map<std::tuple<Op, int, int>, size_t> pending; ///< receives that were posted
  std::map<Op, std::set<int>> meetings;
  std::set<int> tiedRanks;
  Values nothing;
  Outcome outcome;
};
} // namespace

std::optional<Outcome> execute(const Table &table, uint64_t seed) {
  return Executor(table, seed).run();
}

} // namespace ptlc::schedule
