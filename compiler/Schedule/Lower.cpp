//===- Lower.cpp - From orders of computation to complete tables ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the orders in ticks and walks all actions by the time they end. Behind an action, each
// message and each collective that it makes possible is appended to the tables of *all* its ranks
// at the same moment. So there is one order of all events, of which each table is the projection;
// that order is itself a run in which nothing waits, so the tables can't deadlock, even without
// buffers, and both ends of a channel have one order. Joining neighbouring messages only posts some
// of them earlier.
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/Lower.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace ptlc::schedule {

namespace {
/// An action and where it stands in the order of all of them.
struct Event {
  int64_t end;
  int rank;
  size_t position;
  Action action;
};

class Placer {
public:
  explicit Placer(Table &table)
      : table(table), outOf(table.place.size()), into(table.place.size()),
        left(table.place.size(), table.micros), isTied(table.tied.begin(), table.tied.end()),
        far(table.tiedAcrossRanks()) {
    for (size_t k = 0; k < table.edges.size(); ++k) {
      const Edge &edge = table.edges[k];
      if (table.place[edge.source] == table.place[edge.target])
        continue; // handed over in place
      outOf[edge.source].push_back(static_cast<int>(k));
      if (edge.gradient)
        into[edge.target].push_back(static_cast<int>(k));
    }
  }

  void place(const Event &event) {
    auto [op, stage, micro] = event.action;
    Instruction compute{op, stage, micro};
    compute.init = isWeightGradient(op) && left[stage] == table.micros;
    append(event.rank, compute);
    if (op == Op::F)
      sendOutputs(event);
    if (op == Op::F && stage == table.stages() - 1)
      append(event.rank, {Op::Loss, stage, micro});
    if (isBackward(op))
      sendGradients(event);
    if (isWeightGradient(op) && --left[stage] == 0)
      finish(stage);
  }

private:
  void append(int rank, Instruction instruction) {
    table.tables[rank].instructions.push_back(std::move(instruction));
  }

  void sendOutputs(const Event &event) {
    for (int k : outOf[event.action.stage]) {
      const Edge &edge = table.edges[k];
      int to = table.place[edge.target], micro = event.action.micro;
      append(event.rank, {Op::SendA, edge.source, micro, to, k});
      append(to, {Op::RecvA, edge.target, micro, event.rank, k});
    }
  }

  void sendGradients(const Event &event) {
    for (int k : into[event.action.stage]) {
      const Edge &edge = table.edges[k];
      int to = table.place[edge.source], micro = event.action.micro;
      append(event.rank, {Op::SendG, edge.target, micro, to, k});
      append(to, {Op::RecvG, edge.source, micro, event.rank, k});
    }
  }

  void reduce(int stage) {
    if (table.copies > 1)
      append(table.place[stage], {Op::Reduce, stage, -1, -1, -1, 0, Group::Dp});
  }

  /// All weight gradients of `stage` are there. Tied stages are finished together: the sum of their
  /// gradients comes first, as it does on one device.
  void finish(int stage) {
    if (!isTied.count(stage))
      return reduce(stage);
    for (int other : table.tied)
      if (left[other] > 0)
        return;
    if (far)
      tie();
    for (int other : table.tied)
      reduce(other);
  }

  void tie() {
    std::map<int, int> first; // rank -> its first tied stage
    for (int stage : table.tied)
      first.try_emplace(table.place[stage], stage);
    for (auto [rank, stage] : first)
      append(rank, {Op::Tie, stage, -1, -1, -1, 0, Group::Tie});
  }

  Table &table;
  std::vector<std::vector<int>> outOf, into; ///< edges that need messages: values, gradients
  std::vector<int> left; ///< weight gradients of each stage that are still to come
  std::set<int> isTied;
  bool far; ///< tied weights lie on several ranks
};
} // namespace

/// Instructions to put before and behind each position.
using Insertions = std::map<size_t, std::pair<std::vector<Instruction>, std::vector<Instruction>>>;

/// One gather a computation before the first use, to overlap it, and one free behind the last.
static void gatherOnce(const std::vector<Instruction> &list, Insertions &insert) {
  std::map<int, std::pair<size_t, size_t>> uses; // stage -> first and last
  std::map<int, size_t> ahead;                   // stage -> the computation before its first
  std::optional<size_t> before;
  for (size_t i = 0; i < list.size(); ++i) {
    if (!isCompute(list[i].op))
      continue;
    auto [use, isFirst] = uses.try_emplace(list[i].stage, i, i);
    use->second.second = i;
    if (isFirst)
      ahead[list[i].stage] = before.value_or(i);
    if (list[i].op != Op::Loss)
      before = i;
  }
  for (auto [stage, use] : uses) {
    insert[ahead[stage]].first.push_back({Op::Gather, stage, -1, -1, -1, 0, Group::Dp});
    insert[use.second].second.push_back({Op::Free, stage});
  }
}

/// Around each run of instructions of one stage.
static void gatherForUse(const std::vector<Instruction> &list, Insertions &insert) {
  std::optional<size_t> before;
  for (size_t i = 0; i < list.size(); ++i) {
    if (!isCompute(list[i].op))
      continue;
    if (!before || list[*before].stage != list[i].stage) {
      if (before)
        insert[*before].second.push_back({Op::Free, list[*before].stage});
      insert[i].first.push_back({Op::Gather, list[i].stage, -1, -1, -1, 0, Group::Dp});
    }
    before = i;
  }
  if (before)
    insert[*before].second.push_back({Op::Free, list[*before].stage});
}

static void addGathers(std::vector<Instruction> &list, Gathers gathers) {
  Insertions insert;
  if (gathers == Gathers::Keep)
    gatherOnce(list, insert);
  else if (gathers == Gathers::Use)
    gatherForUse(list, insert);
  std::vector<Instruction> result;
  for (size_t i = 0; i < list.size(); ++i) {
    auto found = insert.find(i);
    if (found != insert.end())
      result.insert(result.end(), found->second.first.begin(), found->second.first.end());
    result.push_back(list[i]);
    if (found != insert.end())
      result.insert(result.end(), found->second.second.begin(), found->second.second.end());
  }
  list = std::move(result);
}

/// Numbers runs of neighbouring messages: they are posted together.
static void joinMessages(std::vector<Instruction> &list) {
  int batch = 0;
  for (size_t begin = 0; begin < list.size();) {
    size_t end = begin;
    while (end < list.size() && isMessage(list[end].op))
      ++end;
    if (end - begin > 1) {
      ++batch;
      for (size_t i = begin; i < end; ++i)
        list[i].batch = batch;
    }
    begin = std::max(end, begin + 1);
  }
}

static std::vector<Event> eventsInOrder(const Orders &orders, const Timing &timing) {
  std::vector<Event> events;
  for (int rank = 0; rank < orders.ranks; ++rank)
    for (size_t i = 0; i < orders.actions[rank].size(); ++i)
      events.push_back({timing.end[rank][i], rank, i, orders.actions[rank][i]});
  std::sort(events.begin(), events.end(), [](const Event &a, const Event &b) {
    return std::tie(a.end, a.rank, a.position) < std::tie(b.end, b.rank, b.position);
  });
  return events;
}

std::optional<Table> lower(const Orders &orders, const LowerOptions &options, Stuck &stuck) {
  Table table;
  table.name = orders.name;
  table.ranks = orders.ranks;
  table.chunks = orders.chunks;
  table.micros = orders.micros;
  table.place = orders.place;
  table.edges = options.edges.empty() ? chain(table.stages()) : options.edges;
  table.tied = options.tied;
  table.clip = options.clip;
  table.copies = options.copies;
  table.zero = options.gathers == Gathers::None ? 0 : 3;
  table.tables.resize(table.ranks);
  std::optional<Timing> timing = runInTicks(orders, table.edges, options.ticks, stuck);
  if (!timing)
    return std::nullopt;
  Placer placer(table);
  for (const Event &event : eventsInOrder(orders, *timing))
    placer.place(event);
  for (int rank = 0; rank < table.ranks; ++rank) {
    std::vector<Instruction> &list = table.tables[rank].instructions;
    addGathers(list, options.gathers);
    if (options.norm || options.clip)
      list.push_back({Op::Norm, -1, -1, -1, -1, 0, Group::All});
    for (int stage = 0; stage < table.stages(); ++stage)
      if (table.place[stage] == rank)
        list.push_back({Op::Opt, stage});
    if (options.batch)
      joinMessages(list);
    assignSlots(table, rank);
  }
  return table;
}

} // namespace ptlc::schedule
