//===- Partition.h - Which layers each stage gets, which rank each stage --===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_SCHEDULE_PARTITION_H
#define PTLC_COMPILER_SCHEDULE_PARTITION_H

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace ptlc::schedule {

/// [first, second) of the layers.
using Part = std::pair<int, int>;

/// Cuts layers of these costs into contiguous parts, none empty: with the least largest part, among
/// those the least sum of squares (so equal layers differ by at most one), among those the smaller
/// parts first (early stages keep more micro-batches). Nullopt: more parts than layers.
/// O(parts * layers^2).
std::optional<std::vector<Part>> partition(const std::vector<int64_t> &costs, int parts);

/// The same for several chunks per rank, where the largest load of a *rank* counts: moves
/// boundaries of partition(), one or two at a time, while that helps. A local optimum, exact for
/// one chunk.
std::optional<std::vector<Part>> partitionRanks(const std::vector<int64_t> &costs, int ranks,
                                                const std::vector<int> &place);

} // namespace ptlc::schedule

#endif // PTLC_COMPILER_SCHEDULE_PARTITION_H
