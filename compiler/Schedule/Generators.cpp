//===- Generators.cpp - The known pipeline schedules ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// GPipe: Huang et al. 2019; 1F1B: Narayanan et al. 2019; interleaved: Narayanan et al. 2021; zero
// bubble: Qi et al. 2023. GPipe's backward runs in ascending order here, so that sums of gradients
// have the order of one device.
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/Generators.h"

#include <algorithm>
#include <utility>

namespace ptlc::schedule {

static Orders roundRobinOrders(std::string name, int p, int m, int v) {
  return {std::move(name), p, v, m, roundRobin(p, v), std::vector<std::vector<Action>>(p)};
}

Orders gpipe(int p, int m, int v) {
  Orders orders = roundRobinOrders("gpipe", p, m, v);
  for (int rank = 0; rank < p; ++rank) {
    std::vector<Action> &out = orders.actions[rank];
    for (int chunk = 0; chunk < v; ++chunk)
      for (int micro = 0; micro < m; ++micro)
        out.push_back({Op::F, chunk * p + rank, micro});
    for (int chunk = v - 1; chunk >= 0; --chunk)
      for (int micro = 0; micro < m; ++micro)
        out.push_back({Op::BW, chunk * p + rank, micro});
  }
  return orders;
}

Orders oneForwardOneBackward(int p, int m) {
  Orders orders = roundRobinOrders("one_f_one_b", p, m, 1);
  for (int rank = 0; rank < p; ++rank) {
    std::vector<Action> &out = orders.actions[rank];
    int warmUp = std::min(m, p - 1 - rank);
    for (int micro = 0; micro < warmUp; ++micro)
      out.push_back({Op::F, rank, micro});
    for (int micro = 0; micro < m; ++micro) {
      if (micro + warmUp < m)
        out.push_back({Op::F, rank, micro + warmUp});
      out.push_back({Op::BW, rank, micro});
    }
  }
  return orders;
}

std::vector<int> interleavedGroups(int p, int m) {
  int groups = std::max(1, m / p);
  std::vector<int> sizes;
  for (int group = 0; group < groups; ++group)
    sizes.push_back(m / groups + (group >= groups - m % groups ? 1 : 0));
  return sizes;
}

Orders interleaved(int p, int m, int v) {
  Orders orders = roundRobinOrders("interleaved", p, m, v);
  std::vector<std::pair<int, int>> forwards, backwards; // (chunk, micro-batch)
  int first = 0;
  for (int size : interleavedGroups(p, m)) {
    for (int chunk = 0; chunk < v; ++chunk)
      for (int micro = first; micro < first + size; ++micro) {
        forwards.emplace_back(chunk, micro);
        backwards.emplace_back(v - 1 - chunk, micro);
      }
    first += size;
  }
  int total = m * v, largest = interleavedGroups(p, m).back();
  for (int rank = 0; rank < p; ++rank) {
    std::vector<Action> &out = orders.actions[rank];
    auto add = [&](Op op, std::pair<int, int> what) {
      out.push_back({op, what.first * p + rank, what.second});
    };
    int warmUp = std::min(total, 2 * (p - 1 - rank) + (v - 1) * largest);
    for (int i = 0; i < warmUp; ++i)
      add(Op::F, forwards[i]);
    for (int i = 0; i < total; ++i) {
      if (warmUp + i < total)
        add(Op::F, forwards[warmUp + i]);
      add(Op::BW, backwards[i]);
    }
  }
  return orders;
}

/// 1F1B's order of F and B with `warmUp(rank)` forwards first; a W follows a B when more than
/// `waiting(rank)` wait, and in the cool-down where `eager`.
static std::vector<Action> splitBackward(int stage, int m, int warmUp, int waiting, bool eager) {
  std::vector<Action> out;
  int backwards = 0, weights = 0;
  for (int micro = 0; micro < warmUp; ++micro)
    out.push_back({Op::F, stage, micro});
  while (backwards < m) {
    bool coolDown = warmUp + backwards >= m;
    if (!coolDown)
      out.push_back({Op::F, stage, warmUp + backwards});
    out.push_back({Op::B, stage, backwards++});
    if (backwards - weights > waiting || (coolDown && (eager || backwards == m)))
      out.push_back({Op::W, stage, weights++});
  }
  while (weights < m)
    out.push_back({Op::W, stage, weights++});
  return out;
}

Orders zeroBubbleH1(int p, int m) {
  Orders orders = roundRobinOrders("zb_h1", p, m, 1);
  for (int rank = 0; rank < p; ++rank)
    orders.actions[rank] = splitBackward(rank, m, std::min(m, p - 1 - rank), rank, true);
  return orders;
}

Orders zeroBubbleH2(int p, int m) {
  Orders orders = roundRobinOrders("zb_h2", p, m, 1);
  for (int rank = 0; rank < p; ++rank)
    orders.actions[rank] = splitBackward(rank, m, std::min(m, 2 * (p - 1 - rank)), 2 * rank, false);
  return orders;
}

namespace {
/// Counts off one rank's F, B and W of two stages.
class TwoStages {
public:
  TwoStages(int first, int second) : stages{first, second} {}

  /// Appends the next F, B or W of stage `which` (0 or 1).
  void put(Op op, int which) { out.push_back({op, stages[which], done(op, which)++}); }
  /// Appends the W that waits longest, of the second stage first.
  void putWeight() {
    bool waits[2];
    for (int which : {0, 1})
      waits[which] = done(Op::W, which) < done(Op::B, which);
    bool second = waits[1] && (!waits[0] || done(Op::W, 1) <= done(Op::W, 0));
    put(Op::W, second ? 1 : 0);
  }
  int &done(Op op, int which) { return counts[static_cast<size_t>(op)][which]; }

  std::vector<Action> out;

private:
  int stages[2];
  int counts[kOps][2] = {};
};
} // namespace

static std::vector<Action> countedRank(int p, int m, int rank) {
  TwoStages rows(rank, 2 * p - 1 - rank);
  auto repeat = [](int times, auto body) {
    for (int i = 0; i < times; ++i)
      body();
  };
  repeat(2 * (p - rank) - 1, [&] { rows.put(Op::F, 0); }); // until micro-batch 0 comes back
  rows.put(Op::F, 1);
  repeat(rank, [&] { rows.put(Op::F, 0), rows.put(Op::F, 1); }); // 2p stashes on every rank
  repeat(p - 1 - rank, [&] { rows.put(Op::B, 1), rows.put(Op::W, 1), rows.put(Op::F, 1); });
  repeat(m - p, [&] {
    rows.put(Op::B, 1), rows.put(Op::W, 1);
    if (rows.done(Op::F, 0) < m)
      rows.put(Op::F, 0);
    rows.put(Op::B, 0), rows.put(Op::W, 0), rows.put(Op::F, 1);
  });
  rows.put(Op::B, 1), rows.putWeight();
  repeat(rank, [&] { rows.put(Op::B, 0), rows.put(Op::B, 1); });
  repeat(p - 1 - rank, [&] { rows.put(Op::B, 0), rows.putWeight(); });
  rows.put(Op::B, 0);
  repeat(2 * rank + 1, [&] { rows.putWeight(); });
  return rows.out;
}

Orders zeroBubbleVCounted(int p, int m) {
  Orders orders{"zb_v", p, 2, m, snake(p, 2), {}};
  for (int rank = 0; rank < p; ++rank)
    orders.actions.push_back(countedRank(p, m, rank));
  return orders;
}

} // namespace ptlc::schedule
