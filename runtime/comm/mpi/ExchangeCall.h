//===- ExchangeCall.h - One run of a collective by messages ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A call goes on as far as the messages that it waits for have come, so it can run
// beside something else. Only one call at a time uses a rank's buffers.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_COMM_MPI_EXCHANGECALL_H
#define PTLRT_COMM_MPI_EXCHANGECALL_H

#include "runtime/comm/mpi/Exchange.h"
#include "runtime/comm/mpi/Processes.h"

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
  /// Whether all of them are finished; they must have `tag`. If it `waits` they are, or it is an
  /// error.
  Expected<bool> finish(bool waits, int tag, const std::string &where, Diagnosis &diagnosis);
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

class ExchangeCall {
public:
  /// Everything named must outlive the call. `where` says in errors what it is.
  ExchangeCall(const Exchange &plan, uint8_t *arena, ExchangeBuffers &buffers, Traffic &traffic,
               const std::string &where);
  /// Goes on as far as it can without waiting, or to the end if it `waits`. Returns whether it is
  /// at the end; an error comes with a diagnosis.
  Expected<bool> advance(bool waits);

  Diagnosis diagnosis;

private:
  using Share = Exchange::Share;
  /// What was posted last in this round.
  enum class Phase : uint8_t { None, Collect, Give, Swap };

  int64_t countOf(const Share &share, int64_t of) const {
    return std::clamp<int64_t>(share.end - share.begin - of * chunk, 0, chunk);
  }
  int64_t countOf(size_t member, int64_t of) const { return countOf(plan.shares[member], of); }
  int64_t countRounds() const;
  const uint8_t *read(const Share &share, int64_t of, int64_t count, uint8_t *copy) const;
  void write(const Share &share, int64_t of, int64_t count, const uint8_t *data) const;
  RequestList &posted() {
    return phase == Phase::Give      ? buffers.giving
           : phase == Phase::Collect ? buffers.collecting[round % 2]
                                     : buffers.collecting[0];
  }
  Status begin();
  Status end();
  Status beginCollect(int64_t of);
  void endCollect();
  void combine(int64_t count);
  Status beginGive();
  void endGive();
  Status beginSwap();
  void endSwap();

  const Exchange &plan;
  uint8_t *arena;
  ExchangeBuffers &buffers;
  Traffic &traffic;
  const std::string &where;
  int64_t chunk; ///< elements
  int64_t rounds, round = 0;
  Phase phase = Phase::None;
};

} // namespace ptlrt

#endif // PTLRT_COMM_MPI_EXCHANGECALL_H
