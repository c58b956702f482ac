//===- Exchange.h - One rank's part of a collective by messages -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every collective but all-to-all and permute is one or both of two phases, in rounds of a chunk:
// each rank collects its share from the others and combines it; each rank gives its share to the
// others. What a share is, and where its elements lie, is set up once.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_COMM_MPI_EXCHANGE_H
#define PTLRT_COMM_MPI_EXCHANGE_H

#include "runtime/comm/mpi/Processes.h"
#include "runtime/comm/mpi/Stream.h"

namespace ptlrt {

/// What the messages of a collective that failed tell. Members are numbers in MPI's group.
struct Diagnosis {
  int member = -1;             ///< the first one with a message of another collective, or -1
  int index = -1;              ///< of that collective
  std::vector<int> unfinished; ///< members who haven't sent or taken a message
};

/// Requests, and whom each of them waits for.
class RequestList {
public:
  RequestList(Processes &processes, int capacity)
      : processes(processes), queue(processes.mpi().makeQueue(capacity)) {}
  ~RequestList() { processes.mpi().freeQueue(queue); }
  RequestList(const RequestList &) = delete;
  RequestList &operator=(const RequestList &) = delete;

  Status send(int group, const uint8_t *data, int64_t bytes, int to, int tag);
  Status receive(int group, uint8_t *data, int64_t bytes, int from);
  /// Waits for all of them, which must have `tag`.
  Status finish(int tag, const std::string &where, Diagnosis &diagnosis);
  PtlrtMpiQueue *raw() const { return queue; }

private:
  struct Peer {
    int member;
    bool sends; ///< to this rank
  };
  Processes &processes;
  PtlrtMpiQueue *queue;
  std::vector<Peer> peers; ///< per request
};

/// What all collectives of a rank share.
struct ExchangeBuffers {
  /// For groups of up to `members` ranks.
  ExchangeBuffers(Processes &processes, int64_t members);
  uint8_t *sent(int64_t round, int64_t member) { return place(round % 2, member); }
  uint8_t *received(int64_t round, int64_t member) { return place(2 + round % 2, member); }
  uint8_t *gathered(int64_t member) { return place(4, member); }
  uint8_t *result() { return place(5, 0); }

  int64_t members, chunk; ///< chunk: bytes of a message
  RequestList collecting[2], giving;
  std::vector<uint8_t *> operands; ///< of one combination

private:
  uint8_t *place(int64_t row, int64_t member) {
    return bytes.get() + (row * members + member) * chunk;
  }
  std::unique_ptr<uint8_t[]> bytes;
};

class Exchange {
public:
  /// `members`: the group in the order of the data, as numbers in MPI's group `group`; `self`: this
  /// rank's place in it; `sizes`: of the axes; `foldSizes`: see Collective::foldSizes.
  Exchange(const Collective &collective, int tag, int group, std::vector<int> members,
           std::span<const int64_t> sizes, std::vector<int64_t> foldSizes, int64_t self);
  /// Runs the collective once; an error comes with a diagnosis.
  Status run(uint8_t *arena, ExchangeBuffers &buffers, Traffic &traffic, const std::string &where,
             Diagnosis &diagnosis) const;

private:
  struct Share {
    Stream stream;
    int64_t begin = 0, end = 0; ///< of the stream
  };
  struct Call;
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
