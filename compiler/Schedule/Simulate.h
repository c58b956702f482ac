//===- Simulate.h - Plays a table with costs ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_SCHEDULE_SIMULATE_H
#define PTLC_COMPILER_SCHEDULE_SIMULATE_H

#include "compiler/Schedule/Table.h"

#include <limits>
#include <optional>

namespace ptlc::schedule {

struct Link {
  double latency = 0;                                         ///< seconds per message
  double bandwidth = std::numeric_limits<double>::infinity(); ///< bytes per second, each direction
};

enum class Overlap : uint8_t {
  Channel, ///< messages of each directed pair of ranks are a queue of their own
  Rank,    ///< one queue per rank, as on one communication stream
  Off      ///< every message blocks
};

/// Seconds. Lists per stage; a list of one holds for all.
struct Costs {
  std::vector<double> forward = {1}, backward = {1}, weight = {1};
  std::vector<double> both;                     ///< BW; empty: backward + weight
  std::vector<double> loss = {0}, update = {0}; ///< LOSS per micro-batch; OPT
  std::vector<double> gather = {0}, reduce = {0};
  double tie = 0, norm = 0;
  Link link;               ///< of every pair of ranks,
  std::vector<Link> links; ///< unless there is one per pair: [from * ranks + to]
  bool sharedWire =
      false; ///< all messages that leave a rank share one wire, those that arrive another
  Overlap overlap = Overlap::Channel;
  int depth = 0; ///< messages that a channel holds before its receive is posted

  double of(Op op, int stage) const;
  const Link &between(int from, int to, int ranks) const {
    return links.empty() ? link : links[static_cast<size_t>(from) * ranks + to];
  }
};

/// A stretch of time of one rank.
struct Span {
  int rank = 0;
  double start = 0, end = 0;
  size_t position = 0; ///< its instruction
};

/// A message from its start to its arrival.
struct Transfer {
  int from = 0, to = 0;
  double start = 0, end = 0;
  size_t position = 0; ///< of the SEND on `from`
};

struct Simulation {
  double makespan = 0;
  std::vector<double> busy, first, last; ///< per rank: time of work, first start, last end
  std::vector<Span> spans;
  std::vector<Transfer> transfers;

  /// 1 - busy / makespan: (p-1)/(m+p-1) for 1F1B.
  double idleOfTotal(size_t rank) const { return 1 - busy[rank] / makespan; }
  /// makespan / busy - 1: (p-1)/m for 1F1B.
  double idleOverIdeal(size_t rank) const { return makespan / busy[rank] - 1; }
  /// Longest time of a rank from its first start to its last end: the time of a step if no barrier
  /// joins the ranks between steps.
  double period() const;
};

/// Plays a verified table. Returns nullopt if ranks wait for each other for ever.
std::optional<Simulation> simulate(const Table &table, const Costs &costs);

} // namespace ptlc::schedule

#endif // PTLC_COMPILER_SCHEDULE_SIMULATE_H
