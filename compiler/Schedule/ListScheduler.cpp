//===- ListScheduler.cpp - Schedules for any costs and limit of memory ----===//
// SPDX-License-Identifier: Apache-2.0
//
// Greedy: of the actions that the ranks would choose at the time they become free, the one that
// starts first is committed (ties: the lower rank), so no decision looks into the future. One place
// stays free on a rank for each of its later chunks, else it can lock up. Sixteen policies differ
// in what a rank prefers; the best result wins. Choices of ranks are kept until an action of their
// own or of a neighbouring stage is committed. Zero bubble pipelines: Qi et al. 2023, 2024.
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/Generators.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace ptlc::schedule {

namespace {
struct Policy {
  bool forwardFirst, lateForward, lateBackward, fillWithWeights;
};

struct Choice {
  int64_t start;
  Op op;
  int stage;
};

/// An action that could run, from when on.
struct Candidate {
  int64_t start;
  int micro, stage;
};

class ListScheduler {
public:
  ListScheduler(const Orders &empty, const Ticks &ticks, const std::vector<int> &limit,
                Policy policy)
      : orders(empty), ticks(ticks), limit(limit), policy(policy) {}
  /// Nullopt: the limit is too small for this policy.
  std::optional<Orders> run(const std::vector<Edge> &edges);

private:
  void prepare(const std::vector<Edge> &edges);
  std::optional<int64_t> readyAt(Op op, int stage, int micro) const;
  std::optional<Choice> choose(int rank) const;
  std::optional<Choice> chooseNow(int rank, const std::vector<Candidate> &forwards,
                                  const std::vector<Candidate> &backwards, bool lacksRoom,
                                  std::optional<int> weight) const;
  std::optional<int> oldestWeight(int rank) const;
  const Candidate &pick(const std::vector<Candidate> &list, bool late) const;
  void commit(int rank, const Choice &choice);

  Orders orders;
  const Ticks &ticks;
  const std::vector<int> &limit;
  Policy policy;
  std::vector<std::vector<int>> stagesOf, into, outOf;
  std::vector<std::vector<int>> neighbours; ///< ranks whose choice an action of a stage may change
  std::vector<std::vector<int64_t>> ends[kOps]; ///< [stage][micro] of F and B
  std::vector<int> done[kOps];
  std::vector<int> stashes;
  std::vector<int64_t> now;
};
} // namespace

void ListScheduler::prepare(const std::vector<Edge> &edges) {
  int stages = static_cast<int>(orders.place.size());
  orders.actions.assign(orders.ranks, {});
  stagesOf.resize(orders.ranks);
  for (auto *list : {&into, &outOf, &neighbours})
    list->resize(stages);
  stashes.resize(orders.ranks);
  now.resize(orders.ranks);
  for (int stage = 0; stage < stages; ++stage) {
    stagesOf[orders.place[stage]].push_back(stage);
    neighbours[stage].push_back(orders.place[stage]);
  }
  for (const Edge &edge : edges) {
    into[edge.target].push_back(edge.source);
    if (edge.gradient)
      outOf[edge.source].push_back(edge.target);
    neighbours[edge.source].push_back(orders.place[edge.target]);
    neighbours[edge.target].push_back(orders.place[edge.source]);
  }
  for (Op op : {Op::F, Op::B, Op::W}) {
    ends[static_cast<size_t>(op)].resize(stages);
    done[static_cast<size_t>(op)].resize(stages);
  }
}

/// When what the action needs is there; nullopt: not known yet.
std::optional<int64_t> ListScheduler::readyAt(Op op, int stage, int micro) const {
  int64_t ready = 0;
  auto wait = [&](Op other, int from) {
    const std::vector<int64_t> &list = ends[static_cast<size_t>(other)][from];
    if (micro >= static_cast<int>(list.size()))
      return false;
    bool remote = orders.place[from] != orders.place[stage];
    ready = std::max(ready, list[micro] + (remote ? ticks.message : 0));
    return true;
  };
  bool known = op == Op::F
                   ? std::all_of(into[stage].begin(), into[stage].end(),
                                 [&](int from) { return wait(Op::F, from); })
                   : wait(Op::F, stage) && std::all_of(outOf[stage].begin(), outOf[stage].end(),
                                                       [&](int from) { return wait(Op::B, from); });
  return known ? std::optional(ready) : std::nullopt;
}

/// `late`: the latest stage; else the oldest micro-batch, of those the latest stage.
const Candidate &ListScheduler::pick(const std::vector<Candidate> &list, bool late) const {
  return *std::min_element(list.begin(), list.end(), [&](const Candidate &a, const Candidate &b) {
    if (late || a.micro == b.micro)
      return a.stage > b.stage;
    return a.micro < b.micro;
  });
}

std::optional<int> ListScheduler::oldestWeight(int rank) const {
  const std::vector<int> &weights = done[static_cast<size_t>(Op::W)];
  std::optional<int> best;
  for (int stage : stagesOf[rank])
    if (weights[stage] < done[static_cast<size_t>(Op::B)][stage])
      if (!best || weights[stage] <= weights[*best])
        best = stage;
  return best;
}

/// Those of `list` that start at `time`.
static std::vector<Candidate> startingAt(const std::vector<Candidate> &list, int64_t time) {
  std::vector<Candidate> result;
  std::copy_if(list.begin(), list.end(), std::back_inserter(result),
               [&](const Candidate &candidate) { return candidate.start == time; });
  return result;
}

/// What the rank would do at once, if anything.
std::optional<Choice> ListScheduler::chooseNow(int rank, const std::vector<Candidate> &forwards,
                                               const std::vector<Candidate> &backwards,
                                               bool lacksRoom, std::optional<int> weight) const {
  int64_t time = now[rank];
  std::vector<Candidate> f = startingAt(forwards, time), b = startingAt(backwards, time);
  if (policy.forwardFirst && !f.empty())
    return Choice{time, Op::F, pick(f, policy.lateForward).stage};
  if (policy.forwardFirst && lacksRoom && weight)
    return Choice{time, Op::W, *weight};
  if (!b.empty())
    return Choice{time, Op::B, pick(b, policy.lateBackward).stage};
  if (!f.empty())
    return Choice{time, Op::F, pick(f, policy.lateForward).stage};
  return std::nullopt;
}

std::optional<Choice> ListScheduler::choose(int rank) const {
  std::vector<Candidate> forwards, backwards;
  bool lacksRoom = false; // a forward could run at once but for memory
  size_t later = stagesOf[rank].size();
  for (int stage : stagesOf[rank]) {
    int next = done[static_cast<size_t>(Op::F)][stage];
    --later;
    if (next < orders.micros)
      if (std::optional<int64_t> ready = readyAt(Op::F, stage, next)) {
        int64_t start = std::max(*ready, now[rank]);
        if (stashes[rank] + 1 <= limit[rank] - static_cast<int>(later))
          forwards.push_back({start, next, stage});
        else
          lacksRoom |= start == now[rank];
      }
    int back = done[static_cast<size_t>(Op::B)][stage];
    if (back < next)
      if (std::optional<int64_t> ready = readyAt(Op::B, stage, back))
        backwards.push_back({std::max(*ready, now[rank]), back, stage});
  }
  std::optional<int> weight = oldestWeight(rank);
  if (std::optional<Choice> choice = chooseNow(rank, forwards, backwards, lacksRoom, weight))
    return choice;
  std::optional<int64_t> arrival;
  for (const auto *list : {&forwards, &backwards})
    for (const Candidate &candidate : *list)
      arrival = std::min(arrival.value_or(candidate.start), candidate.start);
  if (weight &&
      (policy.fillWithWeights || !arrival || *arrival - now[rank] >= ticks.of(Op::W, *weight)))
    return Choice{now[rank], Op::W, *weight};
  if (!arrival)
    return std::nullopt;
  std::vector<Candidate> b = startingAt(backwards, *arrival);
  if (!b.empty())
    return Choice{*arrival, Op::B, pick(b, policy.lateBackward).stage};
  return Choice{*arrival, Op::F, pick(startingAt(forwards, *arrival), policy.lateForward).stage};
}

void ListScheduler::commit(int rank, const Choice &choice) {
  int micro = done[static_cast<size_t>(choice.op)][choice.stage]++;
  now[rank] = choice.start + ticks.of(choice.op, choice.stage);
  ends[static_cast<size_t>(choice.op)][choice.stage].push_back(now[rank]);
  stashes[rank] += choice.op == Op::F ? 1 : choice.op == Op::W ? -1 : 0;
  orders.actions[rank].push_back({choice.op, choice.stage, micro});
}

std::optional<Orders> ListScheduler::run(const std::vector<Edge> &edges) {
  prepare(edges);
  std::vector<std::optional<Choice>> choices(orders.ranks);
  for (int rank = 0; rank < orders.ranks; ++rank)
    choices[rank] = choose(rank);
  for (size_t left = 3 * orders.place.size() * orders.micros; left > 0; --left) {
    int best = -1;
    for (int rank = 0; rank < orders.ranks; ++rank)
      if (choices[rank] && (best < 0 || choices[rank]->start < choices[best]->start))
        best = rank;
    if (best < 0)
      return std::nullopt;
    int stage = choices[best]->stage;
    commit(best, *choices[best]);
    for (int rank : neighbours[stage])
      choices[rank] = choose(rank);
  }
  return std::move(orders);
}

namespace {
/// Smaller is better.
using Score = std::tuple<int64_t, int64_t, int64_t>;
} // namespace

/// Nullopt: the orders can't be run.
static std::optional<Score> score(const Orders &orders, const std::vector<Edge> &edges,
                                  const ListOptions &options) {
  Stuck stuck;
  std::optional<Timing> timing = runInTicks(orders, edges, options.ticks, stuck);
  if (!timing)
    return std::nullopt;
  int64_t spans = 0, makespan = timing->makespan(), period = timing->period();
  for (size_t rank = 0; rank < timing->end.size(); ++rank)
    if (!timing->end[rank].empty())
      spans += timing->end[rank].back() - timing->start[rank].front();
  return options.barrier ? Score{makespan, period, spans} : Score{period, makespan, spans};
}

std::optional<Orders> listSchedule(int p, int m, std::vector<int> place,
                                   const std::vector<Edge> &edges, const ListOptions &options) {
  int v = static_cast<int>(place.size()) / p;
  Orders empty{"list", p, v, m, std::move(place), {}};
  std::vector<int> limit = options.limit.empty() ? std::vector<int>{v * p} : options.limit;
  if (limit.size() == 1)
    limit.resize(p, limit.front());
  std::optional<Orders> best;
  std::optional<Score> bestScore;
  auto offer = [&](std::optional<Orders> orders) {
    std::optional<Score> its = orders ? score(*orders, edges, options) : std::nullopt;
    if (its && (!bestScore || *its < *bestScore)) {
      bestScore = its;
      best = std::move(orders);
    }
  };
  if (empty.place == snake(p, 2) && m >= 2 * p - 1 &&
      *std::min_element(limit.begin(), limit.end()) >= 2 * p)
    offer(zeroBubbleVCounted(p, m));
  for (unsigned bits = 0; bits < 16; ++bits) {
    Policy policy{!(bits & 8), !(bits & 4), !(bits & 2), !(bits & 1)};
    offer(ListScheduler(empty, options.ticks, limit, policy).run(edges));
  }
  return best;
}

static bool areUnitTicks(const Ticks &ticks) {
  auto same = [&](const std::vector<int64_t> &list) {
    return std::all_of(list.begin(), list.end(),
                       [&](int64_t cost) { return cost == ticks.forward.front(); });
  };
  return ticks.message == 0 && same(ticks.forward) && same(ticks.backward) && same(ticks.weight);
}

std::optional<Orders> zeroBubbleV(int p, int m, const ListOptions &options) {
  if (m >= 2 * p - 1 && areUnitTicks(options.ticks) && options.limit.empty())
    return zeroBubbleVCounted(p, m);
  std::optional<Orders> orders = listSchedule(p, m, snake(p, 2), chain(2 * p), options);
  if (orders)
    orders->name = "zb_v";
  return orders;
}

} // namespace ptlc::schedule
