//===- StubCommunicator.cpp - A back end that only counts -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Bytes received by the best algorithms: 2 M (n - 1) / n for an all-reduce of M
// bytes, M (n - 1) / n for its halves, M for a broadcast and for a permute's pieces of M, M (n -
// 1) / n^2 for an all-to-all.
//===----------------------------------------------------------------------===//
#include "runtime/comm/stub/StubCommunicator.h"

namespace ptlrt {

Status StubCommunicator::run(int index) {
  PTLRT_TRY(barrier());
  const Collective &collective = collectives[index];
  int64_t members = 1, bytes = 0;
  for (int axis : collective.axes)
    members *= mesh.size(axis);
  bool whole = collective.kind == CollectiveKind::AllReduce ||
               collective.kind == CollectiveKind::Broadcast ||
               collective.kind == CollectiveKind::Permute;
  for (const CommSegment &segment : collective.segments)
    bytes += whole ? segment.in.rows * segment.in.cols : segment.whole();
  bytes *= elementSize(collective.element);
  if (collective.kind == CollectiveKind::AllToAll)
    bytes /= members; // what a rank holds, of which it keeps its own share
  Traffic &traffic = counters[index];
  ++traffic.calls;
  if (members == 1)
    return Status::ok();
  bool all =
      collective.kind == CollectiveKind::Broadcast || collective.kind == CollectiveKind::Permute;
  int64_t received = all ? bytes : bytes * (members - 1) / members;
  traffic.read += received;
  if (collective.kind == CollectiveKind::AllReduce)
    traffic.written += received;
  return Status::ok();
}

} // namespace ptlrt
