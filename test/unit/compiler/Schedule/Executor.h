//===- Executor.h - Runs tables on values, in random interleavings --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Values are hashes of what made them, so a result is right only if every input was, and a sum is
// right only if its terms came in the right order. Messages are transferred at any time between
// both sides' posting them and somebody's waiting for them, reading and writing slots at that time;
// a slot that is taken holds rubbish until it is written.
//===----------------------------------------------------------------------===//
#ifndef PTLC_TEST_UNIT_COMPILER_SCHEDULE_EXECUTOR_H
#define PTLC_TEST_UNIT_COMPILER_SCHEDULE_EXECUTOR_H

#include "compiler/Schedule/Table.h"

#include <optional>

namespace ptlc::schedule {

/// What a step leaves behind.
struct Outcome {
  std::vector<uint64_t> losses;  ///< per micro-batch
  std::vector<uint64_t> updates; ///< per stage: of the gradients that OPT found
  std::vector<int> mostStashes;  ///< per rank

  bool sameValues(const Outcome &other) const {
    return losses == other.losses && updates == other.updates;
  }
};

/// What it should leave behind, from the stages' edges alone.
Outcome expectedOutcome(const Table &table);

/// Runs the table with `seed` choosing the interleaving; nullopt: it hangs. Tables without copies.
std::optional<Outcome> execute(const Table &table, uint64_t seed);

} // namespace ptlc::schedule

#endif // PTLC_TEST_UNIT_COMPILER_SCHEDULE_EXECUTOR_H
