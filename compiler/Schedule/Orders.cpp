//===- Orders.cpp - In which order each rank computes ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// runInTicks() sweeps over the ranks, running each as far as its inputs are known; a rank that
// waits is visited again when a sweep has moved another. Every visit but the last of a sweep that
// ends the run follows progress, so the work is that of the actions and of at most one failed look
// per rank and sweep.
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/Orders.h"

#include <algorithm>

namespace ptlc::schedule {

int64_t Ticks::of(Op op, int stage) const {
  auto at = [&](const std::vector<int64_t> &list) { return list[list.size() == 1 ? 0 : stage]; };
  switch (op) {
  case Op::F:
    return at(forward);
  case Op::B:
    return at(backward);
  case Op::W:
    return at(weight);
  case Op::BW:
    return at(backward) + at(weight);
  default:
    return 0;
  }
}

int64_t Timing::makespan() const {
  int64_t most = 0;
  for (const std::vector<int64_t> &rank : end)
    if (!rank.empty())
      most = std::max(most, *std::max_element(rank.begin(), rank.end()));
  return most;
}

int64_t Timing::period() const {
  int64_t most = 0;
  for (size_t rank = 0; rank < end.size(); ++rank)
    if (!end[rank].empty())
      most = std::max(most, end[rank].back() - start[rank].front());
  return most;
}

namespace {
class Runner {
public:
  Runner(const Orders &orders, const std::vector<Edge> &edges, const Ticks &ticks)
      : orders(orders), ticks(ticks), into(orders.place.size()), outOf(orders.place.size()),
        forwards(orders.place.size() * orders.micros, kUnknown), backwards(forwards),
        position(orders.ranks), now(orders.ranks) {
    for (const Edge &edge : edges) {
      into[edge.target].push_back(edge.source);
      if (edge.gradient)
        outOf[edge.source].push_back(edge.target);
    }
    timing.start.resize(orders.ranks);
    timing.end.resize(orders.ranks);
  }

  std::optional<Timing> run(Stuck &stuck) {
    for (bool moved = true; moved;) {
      moved = false;
      for (int rank = 0; rank < orders.ranks; ++rank)
        while (position[rank] < orders.actions[rank].size() && step(rank))
          moved = true;
    }
    for (int rank = 0; rank < orders.ranks; ++rank)
      if (position[rank] < orders.actions[rank].size()) {
        stuck = {rank, static_cast<int>(position[rank])};
        return std::nullopt;
      }
    return std::move(timing);
  }

private:
  static constexpr int64_t kUnknown = -1;

  int64_t &at(std::vector<int64_t> &times, int stage, int micro) {
    return times[static_cast<size_t>(stage) * orders.micros + micro];
  }

  /// Makes `ready` at least the time at which what `stage` needs of `other` is there. False:
  /// unknown.
  bool wait(int64_t end, int stage, int other, int64_t &ready) {
    if (end == kUnknown)
      return false;
    bool remote = orders.place[stage] != orders.place[other];
    ready = std::max(ready, end + (remote ? ticks.message : 0));
    return true;
  }

  bool inputsReady(const Action &action, int64_t &ready) {
    int stage = action.stage, micro = action.micro;
    if (action.op == Op::W)
      return wait(at(backwards, stage, micro), stage, stage, ready);
    if (action.op == Op::F)
      return std::all_of(into[stage].begin(), into[stage].end(), [&](int other) {
        return wait(at(forwards, other, micro), stage, other, ready);
      });
    return wait(at(forwards, stage, micro), stage, stage, ready) &&
           std::all_of(outOf[stage].begin(), outOf[stage].end(), [&](int other) {
             return wait(at(backwards, other, micro), stage, other, ready);
           });
  }

  bool step(int rank) {
    const Action &action = orders.actions[rank][position[rank]];
    int64_t ready = now[rank];
    if (!inputsReady(action, ready))
      return false;
    now[rank] = ready + ticks.of(action.op, action.stage);
    timing.start[rank].push_back(ready);
    timing.end[rank].push_back(now[rank]);
    if (action.op == Op::F)
      at(forwards, action.stage, action.micro) = now[rank];
    else if (isBackward(action.op))
      at(backwards, action.stage, action.micro) = now[rank];
    ++position[rank];
    return true;
  }

  const Orders &orders;
  const Ticks &ticks;
  std::vector<std::vector<int>> into, outOf; ///< stages at the other ends
  std::vector<int64_t> forwards, backwards;  ///< ends, [stage][micro]
  std::vector<size_t> position;
  std::vector<int64_t> now;
  Timing timing;
};
} // namespace

std::optional<Timing> runInTicks(const Orders &orders, const std::vector<Edge> &edges,
                                 const Ticks &ticks, Stuck &stuck) {
  return Runner(orders, edges, ticks).run(stuck);
}

} // namespace ptlc::schedule
