//===- Transfer.h - One rank's part of a collective in shared memory ------===//
// SPDX-License-Identifier: Apache-2.0
//
// What is copied and combined between the two barriers of a collective. Bytes
// that cross from one rank's arena to another's are counted here and nowhere
// else.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_COMM_LOCAL_TRANSFER_H
#define PTLRT_COMM_LOCAL_TRANSFER_H

#include "runtime/comm/Collective.h"
#include <span>

namespace ptlrt {

struct Transfer {
  const Collective &collective;
  std::span<uint8_t *const> arenas;   ///< of all ranks
  std::span<const int> members;       ///< of the group
  std::span<const int64_t> sizes;     ///< of the axes, the first is the major one
  std::span<const int64_t> foldSizes; ///< of the axes, in the order in which members are folded
  size_t place;                       ///< of this rank among them
  Traffic &traffic;

  /// Combines this rank's share of all segments and writes it to all members.
  void allReduce();
  void allGather();
  void reduceScatter();
  void allToAll();
  void permute();
  void broadcast();

private:
  void reduceRun(int64_t offset, int64_t count);
  void gatherFrom(const CommSegment &segment, size_t member);
  void exchangeWith(const CommSegment &segment, size_t member);
  void copyFrom(const CommSegment &segment, size_t member, int64_t from, int64_t to, int64_t count);
  void scatterRun(const CommSegment &segment, int64_t from, int64_t to, int64_t count);
  uint8_t *arenaOf(size_t member) const { return arenas[members[member]]; }
};

} // namespace ptlrt

#endif // PTLRT_COMM_LOCAL_TRANSFER_H
