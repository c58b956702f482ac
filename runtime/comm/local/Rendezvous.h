//===- Rendezvous.h - Collectives that are started and waited for ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the threads of a group know of each other's started collectives. A member
// that starts one only says so. The work is cut into a share per member, as in a
// collective that is run at once; when all have started, whoever waits does its
// own share and then those that nobody has begun. So a member waits for others to
// start, never for them to wait, and its memory is free when all shares are done.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_COMM_LOCAL_RENDEZVOUS_H
#define PTLRT_COMM_LOCAL_RENDEZVOUS_H

#include "runtime/comm/Collective.h"
#include "runtime/comm/local/Barrier.h"

namespace ptlrt {

class Rendezvous {
public:
  /// At most `depth` collectives are on their way at once; `aborted` as of a barrier.
  Rendezvous(size_t members, size_t depth, const WaitPolicy &policy,
             const std::atomic<bool> &aborted);

  /// Member `place` starts its next collective, `index` in its list. Returns the number of the
  /// collective: members call them in the same order.
  int64_t start(size_t place, int index);
  /// Waits until all members have started collective `number`.
  WaitResult awaitStarts(int64_t number);
  /// Whether a share, of as many as there are members, is the caller's now; then it calls finish()
  /// after its work.
  bool claim(int64_t number, size_t share);
  void finish(int64_t number);
  /// Waits until all shares are finished.
  WaitResult awaitShares(int64_t number);

  /// What the member at `place` has started. To be read by who has claimed a share and not finished
  /// it yet.
  int indexOf(int64_t number, size_t place) const { return at(number).seats[place].index; }
  /// What was moved in a share: written by who claimed it, read when all are finished.
  Traffic &trafficOf(int64_t number, size_t share) { return at(number).seats[share].traffic; }

private:
  struct alignas(64) Seat {
    int index = -1;  ///< of the member
    Traffic traffic; ///< of the share, as the next
    std::atomic<uint32_t> claims{0};
  };
  /// One collective of a ring of `depth`. The words count rounds of the ring.
  struct Slot {
    std::unique_ptr<Seat[]> seats;
    alignas(64) std::atomic<size_t> arrived{0}, finished{0};
    alignas(64) std::atomic<uint32_t> started{0}, done{0};
  };
  Slot &at(int64_t number) { return slots[static_cast<size_t>(number) % depth]; }
  const Slot &at(int64_t number) const { return slots[static_cast<size_t>(number) % depth]; }
  uint32_t roundOf(int64_t number) const {
    return static_cast<uint32_t>(static_cast<size_t>(number) / depth);
  }

  const size_t members, depth;
  const WaitPolicy policy;
  const std::atomic<bool> &aborted;
  std::unique_ptr<Slot[]> slots;
  std::vector<int64_t> next; ///< number of the next collective, by member
};

} // namespace ptlrt

#endif // PTLRT_COMM_LOCAL_RENDEZVOUS_H
