//===- VPatterns.cpp - V schedules with less memory -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One micro-batch's F0, F1, B1, B0 on each rank lie at offsets that grow by a constant per rank;
// the block is repeated every 6 ticks and sorted. That order, with its W filled in as late as
// memory allows, is the schedule. All small offsets are tried (972 of them) and the best kept. The
// family is that of Qi et al. 2024, "Pipeline parallelism with controllable memory".
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/Generators.h"

#include <algorithm>
#include <array>
#include <deque>
#include <tuple>

namespace ptlc::schedule {

namespace {
/// Ticks per rank of F0, F1, B1, B0, and between F0 and F1, F1 and B1, B1 and B0 at the turns.
using Offsets = std::array<int, 7>;
} // namespace

/// The repeated block; each B is followed by its W.
static Orders repeatBlock(int p, int m, const Offsets &offsets) {
  auto [a, b, c, d, turn, bottom, back] = offsets;
  Orders orders{"v", p, 2, m, snake(p, 2), {}};
  int f1 = a * (p - 1) + turn;
  int b1 = f1 + b * (p - 1) + bottom;
  int b0 = b1 + c * (p - 1) + back;
  for (int rank = 0; rank < p; ++rank) {
    using Event = std::tuple<int, int, int, Op, int>; // time, backward first, stage, op, micro
    std::vector<Event> events;
    int second = 2 * p - 1 - rank, up = p - 1 - rank;
    for (int micro = 0; micro < m; ++micro) {
      events.emplace_back(a * rank + 6 * micro, 1, rank, Op::F, micro);
      events.emplace_back(f1 + b * up + 6 * micro, 1, second, Op::F, micro);
      events.emplace_back(b1 + c * rank + 6 * micro, 0, second, Op::B, micro);
      events.emplace_back(b0 + d * up + 6 * micro, 0, rank, Op::B, micro);
    }
    std::sort(events.begin(), events.end());
    std::vector<Action> &out = orders.actions.emplace_back();
    for (auto [time, first, stage, op, micro] : events) {
      out.push_back({op, stage, micro});
      if (op == Op::B)
        out.push_back({Op::W, stage, micro});
    }
  }
  return orders;
}

/// Most stashes of any rank.
static int mostStashes(const Orders &orders) {
  int most = 0;
  for (const std::vector<Action> &rank : orders.actions) {
    int now = 0;
    for (const Action &action : rank) {
      now += action.op == Op::F ? 1 : action.op == Op::W ? -1 : 0;
      most = std::max(most, now);
    }
  }
  return most;
}

namespace {
/// Runs F and B in the given order, one tick each, with a waiting W wherever nothing else can run
/// at once or memory is needed.
class LazyWeights {
public:
  LazyWeights(const Orders &orders, int limit)
      : limit(limit), result(orders), queue(orders.ranks), waiting(orders.ranks), now(orders.ranks),
        stashes(orders.ranks), forwards(orders.place.size()), backwards(orders.place.size()) {
    for (int rank = 0; rank < orders.ranks; ++rank) {
      result.actions[rank].clear();
      for (const Action &action : orders.actions[rank])
        if (action.op != Op::W)
          queue[rank].push_back(action);
    }
  }

  /// Nullopt: it locks up.
  std::optional<Orders> run() {
    while (true) {
      std::optional<Move> best;
      for (int rank = 0; rank < result.ranks; ++rank)
        if (std::optional<Move> move = moveOf(rank))
          if (!best || move->time < best->time)
            best = move;
      if (!best)
        break;
      make(*best);
    }
    bool finished = std::all_of(queue.begin(), queue.end(),
                                [](const std::deque<Action> &rest) { return rest.empty(); });
    return finished ? std::optional(std::move(result)) : std::nullopt;
  }

private:
  struct Move {
    int time, rank;
    bool isWeight;
  };

  std::optional<int> endOf(const std::vector<std::vector<int>> &ends, int stage, int micro) const {
    if (micro >= static_cast<int>(ends[stage].size()))
      return std::nullopt;
    return ends[stage][micro];
  }

  /// Along the chain of stages: what is before a forward, and the two things before a backward.
  std::optional<int> readyAt(const Action &action) const {
    int last = static_cast<int>(result.place.size()) - 1;
    if (action.op == Op::F)
      return action.stage == 0 ? 0 : endOf(forwards, action.stage - 1, action.micro);
    std::optional<int> own = endOf(forwards, action.stage, action.micro);
    if (action.stage == last || !own)
      return own;
    std::optional<int> next = endOf(backwards, action.stage + 1, action.micro);
    return next ? std::optional(std::max(*own, *next)) : std::nullopt;
  }

  std::optional<Move> moveOf(int rank) const {
    Move weight{now[rank], rank, true};
    std::optional<Move> none;
    if (queue[rank].empty())
      return waiting[rank].empty() ? none : weight;
    const Action &next = queue[rank].front();
    std::optional<int> ready = readyAt(next);
    bool runs = ready && !(next.op == Op::F && stashes[rank] >= limit);
    if (runs && *ready <= now[rank])
      return Move{now[rank], rank, false};
    if (!waiting[rank].empty())
      return weight;
    return runs ? std::optional(Move{*ready, rank, false}) : none;
  }

  void make(const Move &move) {
    int rank = move.rank;
    now[rank] = move.time + 1;
    std::deque<Action> &from = move.isWeight ? waiting[rank] : queue[rank];
    Action action = from.front();
    from.pop_front();
    if (move.isWeight) {
      action.op = Op::W;
      --stashes[rank];
    } else if (action.op == Op::F) {
      forwards[action.stage].push_back(now[rank]);
      ++stashes[rank];
    } else {
      backwards[action.stage].push_back(now[rank]);
      waiting[rank].push_back(action);
    }
    result.actions[rank].push_back(action);
  }

  int limit;
  Orders result;
  std::vector<std::deque<Action>> queue, waiting;
  std::vector<int> now, stashes;
  std::vector<std::vector<int>> forwards, backwards; ///< ends, [stage][micro]
};
} // namespace

/// Every combination of small offsets; `visit` gets each.
template <typename Visit> static void forAllOffsets(Visit visit) {
  static constexpr int most[7] = {3, 3, 3, 3, 2, 2, 3};
  Offsets offsets;
  offsets.fill(1);
  while (true) {
    visit(offsets);
    int digit = 6;
    while (digit >= 0 && offsets[digit] == most[digit])
      offsets[digit--] = 1;
    if (digit < 0)
      return;
    ++offsets[digit];
  }
}

/// The best offsets for a limit, judged at a moderate number of micro-batches, so that one result
/// serves all.
static std::optional<Offsets> searchOffsets(int p, int limit) {
  using Score = std::tuple<int64_t, int64_t, Offsets>;
  std::optional<Score> best;
  std::vector<Edge> edges = chain(2 * p);
  forAllOffsets([&](const Offsets &offsets) {
    Orders block = repeatBlock(p, 2 * p + 4, offsets);
    if (mostStashes(block) > limit)
      return;
    std::optional<Orders> orders = LazyWeights(block, limit).run();
    Stuck stuck;
    std::optional<Timing> timing =
        orders ? runInTicks(*orders, edges, Ticks{}, stuck) : std::nullopt;
    if (!timing)
      return;
    Score score{timing->period(), timing->makespan(), offsets};
    if (!best || score < *best)
      best = score;
  });
  return best ? std::optional(std::get<Offsets>(*best)) : std::nullopt;
}

std::optional<Orders> vPattern(int p, int m, int limit) {
  std::optional<Offsets> offsets = searchOffsets(p, limit);
  if (!offsets)
    return std::nullopt;
  return LazyWeights(repeatBlock(p, m, *offsets), limit).run();
}

int vHalfLimit(int p) { return p + 2; }

int vMinLimit(int p) { return (2 * (p + 4) + 2) / 3; }

} // namespace ptlc::schedule
