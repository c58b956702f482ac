//===- Reduce.h - Combining the same elements of several buffers ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// The inner loop of the local back end.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_COMM_LOCAL_REDUCE_H
#define PTLRT_COMM_LOCAL_REDUCE_H

#include "runtime/comm/Collective.h"
#include <span>

namespace ptlrt {

/// The longest run that reduceBlock() takes, in elements: it stays in the first-level cache.
inline constexpr int64_t kReduceBlock = 2048;

/// Combines `count` elements of all `buffers` and writes them to each of `results`; the two lists
/// may name the same memory. `sizes` are those of the group's axes, major first: members that
/// differ on the last one only are combined first, ascending, then those groups, and so on. So a
/// fold over several axes is that over one after the other, the last one first.
void reduceBlock(ReduceKind kind, Element element, std::span<const int64_t> sizes,
                 std::span<uint8_t *const> buffers, std::span<uint8_t *const> results,
                 int64_t count);

} // namespace ptlrt

#endif // PTLRT_COMM_LOCAL_REDUCE_H
