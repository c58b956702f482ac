//===- ChainPlan.h - Which blocks of a chain to compute again ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A forward runs through blocks one after the other and the backward through them
// in reverse order. What a block keeps lies in memory from its forward to its
// backward; while its backward runs, it works on what it keeps and what it computes
// again. So the least time within a limit follows from a table over blocks and
// bytes kept so far (Bellman): exact, but for the bytes, which are rounded up to
// 1/65536 of the limit so that the table stays small.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_ANALYSIS_MEMORY_CHAINPLAN_H
#define PTLC_COMPILER_ANALYSIS_MEMORY_CHAINPLAN_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace ptlc {

/// One way to treat a block.
struct BlockOption {
  int64_t kept = 0;    ///< bytes from its forward to its backward
  int64_t working = 0; ///< bytes that lie in memory besides what earlier blocks keep, at most
  double cost = 0;     ///< of what is computed again, in any unit
};

/// Returns an option for each block, in order of the forward, such that memory holds, at each
/// time, what the blocks keep and work on; at the end of the forward `head` bytes besides. Of all
/// such choices it is the cheapest, of these the one that keeps least. Nullopt if there is none.
std::optional<std::vector<unsigned>> planChain(llvm::ArrayRef<std::vector<BlockOption>> blocks,
                                               int64_t head, int64_t limit);

} // namespace ptlc

#endif // PTLC_COMPILER_ANALYSIS_MEMORY_CHAINPLAN_H
