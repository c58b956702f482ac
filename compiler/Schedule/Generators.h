//===- Generators.h - The known pipeline schedules ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// p ranks, m micro-batches, v chunks per rank; every generator takes any p, m, v >= 1 unless it
// says so, and keeps F, B and W ascending in micro-batches per stage, so that sums have one order.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_SCHEDULE_GENERATORS_H
#define PTLC_COMPILER_SCHEDULE_GENERATORS_H

#include "compiler/Schedule/Orders.h"

namespace ptlc::schedule {

/// All forwards, then all backwards, chunk by chunk.
Orders gpipe(int p, int m, int v = 1);

/// Warm-up of min(m, p-1-r) forwards, then forward and backward in turn.
Orders oneForwardOneBackward(int p, int m);

/// Sizes of the groups of micro-batches of interleaved(): max(1, m / p) of them, as equal as can
/// be, the smaller first. A short last group would stall, and deadlocks for many p, m, v.
std::vector<int> interleavedGroups(int p, int m);

/// 1F1B over v chunks per rank, round robin.
Orders interleaved(int p, int m, int v);

/// 1F1B with the backward split: weight gradients fill the gaps, memory of 1F1B's first rank.
Orders zeroBubbleH1(int p, int m);

/// Twice the warm-up of ZB-H1: up to 2p-1 micro-batches in flight.
Orders zeroBubbleH2(int p, int m);

/// ZB-V for F = B = W and no time for messages; m >= 2p-1. Rank r is busy without a gap from tick r
/// to 6m + r and never holds more than 2p stashes of a half.
Orders zeroBubbleVCounted(int p, int m);

/// What the list scheduler may do and what is best.
struct ListOptions {
  Ticks ticks;
  std::vector<int> limit; ///< most stashes per rank; one for all; empty: v * p
  bool barrier = false;   ///< the step ends with all ranks together: least makespan, not period
};

/// Greedy list scheduling under a limit of memory, the best of sixteen policies, and of the counted
/// ZB-V where it fits. Returns nullopt if the limit is too small.
std::optional<Orders> listSchedule(int p, int m, std::vector<int> place,
                                   const std::vector<Edge> &edges, const ListOptions &options);

/// ZB-V for any m: counted, or the list scheduler for m < 2p-1 or `options` that aren't those of
/// the counted form.
std::optional<Orders> zeroBubbleV(int p, int m, const ListOptions &options = {});

/// V-Half and V-Min: blocks of offsets, repeated and squeezed, with at most `limit` stashes
/// (halves) per rank. The search depends on p and limit only. Returns nullopt if no block fits.
std::optional<Orders> vPattern(int p, int m, int limit);
/// Limits that give these schedules their names: half and a third of ZB-V's 2p halves.
int vHalfLimit(int p);
int vMinLimit(int p);

/// The schedules by the names of the language.
enum class Kind : uint8_t {
  GPipe,
  OneForwardOneBackward,
  Interleaved,
  ZbH1,
  ZbH2,
  ZbV,
  VHalf,
  VMin
};
/// `one_f_one_b`; nullopt for other names.
std::optional<Kind> parseKind(std::string_view name);
std::string_view name(Kind kind);

/// Makes the orders of one kind. `v` counts for gpipe and interleaved only. Returns nullopt with
/// the reason in `error` for numbers that the schedule can't have.
std::optional<Orders> generate(Kind kind, int p, int m, int v, std::string &error);

} // namespace ptlc::schedule

#endif // PTLC_COMPILER_SCHEDULE_GENERATORS_H
