//===- Lower.h - From orders of computation to complete tables ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_SCHEDULE_LOWER_H
#define PTLC_COMPILER_SCHEDULE_LOWER_H

#include "compiler/Schedule/Orders.h"

namespace ptlc::schedule {

/// Where a table gathers the weights of whole stages (ZeRO-3).
enum class Gathers : uint8_t {
  None, ///< never: weights are whole, or stage functions gather them layer by layer
  Keep, ///< once per step, one computation ahead of the first use
  Use   ///< around each run of instructions of one stage
};

struct LowerOptions {
  std::vector<Edge> edges; ///< empty: from each stage to the next
  Ticks ticks;
  std::vector<int> tied; ///< stages that share weights
  bool norm = true;      ///< take the global norm
  bool clip = false;     ///< and let the update wait for it; implies `norm`
  int copies = 1;
  Gathers gathers = Gathers::None;
  bool batch = true; ///< neighbouring messages are posted together
};

/// Adds messages, losses, collectives, updates, groups and slots. All ranks' tables are projections
/// of one order of all events, so they run with no buffers at all. Returns nullopt if the orders
/// can't be run; `stuck` is then the first action that never starts.
std::optional<Table> lower(const Orders &orders, const LowerOptions &options, Stuck &stuck);

/// Gives every instruction of rank `rank` its operands, and sets the counts of slots: the lowest
/// free one of a kind, but for what is being sent (Y, D), where two take turns.
void assignSlots(Table &table, size_t rank);

} // namespace ptlc::schedule

#endif // PTLC_COMPILER_SCHEDULE_LOWER_H
