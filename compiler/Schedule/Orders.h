//===- Orders.h - In which order each rank computes -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a generator or a user's file says: only F, B, W and BW. Everything else is added by lower().
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_SCHEDULE_ORDERS_H
#define PTLC_COMPILER_SCHEDULE_ORDERS_H

#include "compiler/Schedule/Table.h"

#include <optional>

namespace ptlc::schedule {

struct Action {
  Op op = Op::F; ///< F, B, W or BW
  int stage = 0;
  int micro = 0;

  bool operator==(const Action &) const = default;
};

struct Orders {
  std::string name;
  int ranks = 1, chunks = 1, micros = 1;
  std::vector<int> place;                   ///< rank of each stage
  std::vector<std::vector<Action>> actions; ///< of each rank

  bool operator==(const Orders &) const = default;
};

/// Times of each stage in whole ticks, for decisions about order. A list of one holds for all.
struct Ticks {
  std::vector<int64_t> forward = {1}, backward = {1}, weight = {1};
  int64_t message = 0; ///< from the end of one stage to the begin of another on another rank

  int64_t of(Op op, int stage) const;
};

/// When each action runs if every rank follows its order and begins as early as it can.
struct Timing {
  std::vector<std::vector<int64_t>> start, end; ///< [rank][position]
  int64_t makespan() const;
  /// Longest time of a rank from its first start to its last end.
  int64_t period() const;
};

/// A place in a set of orders that can't go on.
struct Stuck {
  int rank = 0;
  int position = 0;
};

/// Runs the orders. Returns nullopt when they can't be run, with the first rank that is `stuck`.
std::optional<Timing> runInTicks(const Orders &orders, const std::vector<Edge> &edges,
                                 const Ticks &ticks, Stuck &stuck);

} // namespace ptlc::schedule

#endif // PTLC_COMPILER_SCHEDULE_ORDERS_H
