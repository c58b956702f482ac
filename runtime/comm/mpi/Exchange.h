//===- Exchange.h - One rank's part of a collective by messages -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every collective but all-to-all and permute is one or both of two phases, in rounds of a chunk:
// each rank collects its share from the others and combines it; each rank gives its share to the
// others. What a share is, and where its elements lie, is set up once; ExchangeCall.h runs it.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_COMM_MPI_EXCHANGE_H
#define PTLRT_COMM_MPI_EXCHANGE_H

#include "runtime/comm/mpi/Stream.h"

namespace ptlrt {

class Exchange {
public:
  /// `members`: the group in the order of the data, as numbers in MPI's group `group`; `self`: this
  /// rank's place in it; `sizes`: of the axes; `foldSizes`: see Collective::foldSizes.
  Exchange(const Collective &collective, int tag, int group, std::vector<int> members,
           std::span<const int64_t> sizes, std::vector<int64_t> foldSizes, int64_t self);

private:
  friend class ExchangeCall;
  struct Share {
    Stream stream;
    int64_t begin = 0, end = 0; ///< of the stream
  };
  void cutAllReduce();
  void cutBroadcast();
  void cutPieces(std::span<const int64_t> sizes);
  void cutExchange(std::span<const int64_t> sizes);
  void cutPermute();

  const Collective &collective;
  int tag, group;
  std::vector<int> members;
  std::vector<int64_t> foldSizes;
  int64_t self, size;
  bool collects, gives;
  std::vector<Share> shares; ///< where each member's share lies in the whole
  /// All-to-all and permute: where each member's goes; `shares` go to them.
  std::vector<Share> arriving;
  Share own; ///< this rank's: reduce-scatter writes it there, others give it from there
};

} // namespace ptlrt

#endif // PTLRT_COMM_MPI_EXCHANGE_H
