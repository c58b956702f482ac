//===- Barrier.h - Threads wait for each other ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A barrier that spins, then yields, then sleeps: a collective of a few KiB takes
// about a microsecond if every thread has a core, and still works if not. It can
// be aborted from outside and gives up after a time.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_COMM_LOCAL_BARRIER_H
#define PTLRT_COMM_LOCAL_BARRIER_H

#include <atomic>
#include <cstdint>

namespace ptlrt {

/// How long a waiting thread keeps its core.
struct WaitPolicy {
  int64_t spin = 1000; ///< turns with the core kept
  int64_t yield = 200; ///< turns that offer it to others; then the thread sleeps
  int64_t timeoutMs = 600'000;
};

enum class WaitResult : uint8_t { Done, Aborted, TimedOut };

/// Waits until `word` is `wanted`, which announce() writes.
WaitResult await(std::atomic<uint32_t> &word, uint32_t wanted, const WaitPolicy &policy,
                 const std::atomic<bool> &aborted);
void announce(std::atomic<uint32_t> &word, uint32_t value);

class Barrier {
public:
  /// `aborted` is shared by all barriers of a job and outlives them.
  Barrier(int members, const WaitPolicy &policy, const std::atomic<bool> &aborted)
      : members(members), policy(policy), aborted(aborted) {}

  /// Returns Done when all members have called it as often as this one.
  WaitResult wait();

private:
  WaitResult sleep(uint32_t generationBefore);

  const int members;
  const WaitPolicy policy;
  const std::atomic<bool> &aborted;
  // On lines of their own: waiters read the one while arrivals write the other.
  alignas(64) std::atomic<int> arrived{0};
  alignas(64) std::atomic<uint32_t> generation{0};
  alignas(64) std::atomic<int> sleepers{0};
};

} // namespace ptlrt

#endif // PTLRT_COMM_LOCAL_BARRIER_H
