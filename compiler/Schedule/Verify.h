//===- Verify.h - Proves that a table runs and computes the right sums ----===//
// SPDX-License-Identifier: Apache-2.0
//
// Linear in the number of instructions. compiler/doc/Schedules.md says what each phase proves and
// why the phases together suffice for every number of copies and any order of completion.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_SCHEDULE_VERIFY_H
#define PTLC_COMPILER_SCHEDULE_VERIFY_H

#include "compiler/Schedule/Table.h"

#include <optional>

namespace ptlc::schedule {

/// A mistake: what kind, where, and in words. A missing instruction is reported at the table's end.
struct Mistake {
  std::string_view code; ///< such as DEADLOCK
  int rank = 0;
  int position = 0;
  std::string message;
};

struct VerifyOptions {
  int depth = 0;          ///< messages that a channel holds before its receive is posted
  std::vector<int> limit; ///< planned stashes per rank; one for all; empty: not checked
  bool strict = true;     ///< weight gradients are summed in the order of micro-batches
};

/// Mistakes of the first phase that finds any, sorted by rank and position. Empty: the table is
/// right.
std::vector<Mistake> verify(const Table &table, const VerifyOptions &options = {});

/// Where each rank stands when the table has been run as far as it goes, with channels that hold
/// `depth` messages; nullopt: it finished. Needs a table whose messages pair.
std::vector<std::optional<size_t>> runBlocking(const Table &table, int depth);

/// The least depth with which the table runs, up to `most`.
std::optional<int> leastDepth(const Table &table, int most = 64);

/// Most slots of these kinds in use at once on each rank, such as "S".
std::vector<int> peak(const Table &table, std::string_view kinds = "S");

/// Messages that name the table: "rank 2, position 16: ...".
std::string text(const Mistake &mistake);

} // namespace ptlc::schedule

#endif // PTLC_COMPILER_SCHEDULE_VERIFY_H
