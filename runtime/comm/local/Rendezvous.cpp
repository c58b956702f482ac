//===- Rendezvous.cpp - Collectives that are started and waited for -------===//
// SPDX-License-Identifier: Apache-2.0
//
// A slot of the ring is used again by a member only after it has waited for the
// slot's last collective, so all shares of that one are done; members that come
// late to it find no share left and read nothing but words of their own round.
//===----------------------------------------------------------------------===//
#include "runtime/comm/local/Rendezvous.h"

namespace ptlrt {

Rendezvous::Rendezvous(size_t members, size_t depth, const WaitPolicy &policy,
                       const std::atomic<bool> &aborted)
    : members(members), depth(depth), policy(policy), aborted(aborted), slots(new Slot[depth]),
      next(members, 0) {
  for (size_t slot = 0; slot < depth; ++slot)
    slots[slot].seats = std::make_unique<Seat[]>(members);
}

int64_t Rendezvous::start(size_t place, int index) {
  int64_t number = next[place]++;
  Slot &slot = at(number);
  slot.seats[place].index = index;
  if (slot.arrived.fetch_add(1, std::memory_order_acq_rel) == members - 1) {
    slot.arrived.store(0, std::memory_order_relaxed);
    announce(slot.started, roundOf(number) + 1);
  }
  return number;
}

WaitResult Rendezvous::awaitStarts(int64_t number) {
  return await(at(number).started, roundOf(number) + 1, policy, aborted);
}

bool Rendezvous::claim(int64_t number, size_t share) {
  uint32_t round = roundOf(number);
  return at(number).seats[share].claims.compare_exchange_strong(
      round, round + 1, std::memory_order_acq_rel, std::memory_order_acquire);
}

void Rendezvous::finish(int64_t number) {
  Slot &slot = at(number);
  if (slot.finished.fetch_add(1, std::memory_order_acq_rel) == members - 1) {
    slot.finished.store(0, std::memory_order_relaxed);
    announce(slot.done, roundOf(number) + 1);
  }
}

WaitResult Rendezvous::awaitShares(int64_t number) {
  return await(at(number).done, roundOf(number) + 1, policy, aborted);
}

} // namespace ptlrt
