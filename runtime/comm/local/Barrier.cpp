//===- Barrier.cpp - Threads wait for each other --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The last to arrive advances the generation, which the others watch. Sleepers
// use a futex on it, in slices, so that they see an abort without being woken.
//===----------------------------------------------------------------------===//
#include "runtime/comm/local/Barrier.h"

#include <chrono>
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ptlrt {

static constexpr int64_t kSliceMs = 20;

static void futexWait(std::atomic<uint32_t> &word, uint32_t expected) {
  timespec slice{0, kSliceMs * 1'000'000};
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, &slice, nullptr, 0);
}
static void futexWakeAll(std::atomic<uint32_t> &word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

static void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

void announce(std::atomic<uint32_t> &word, uint32_t value) {
  word.store(value, std::memory_order_seq_cst);
  futexWakeAll(word);
}

WaitResult await(std::atomic<uint32_t> &word, uint32_t wanted, const WaitPolicy &policy,
                 const std::atomic<bool> &aborted) {
  for (int64_t turn = 0; turn < policy.spin + policy.yield; ++turn) {
    if (word.load(std::memory_order_acquire) == wanted)
      return WaitResult::Done;
    if (turn < policy.spin)
      pause();
    else
      ::sched_yield();
  }
  auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(policy.timeoutMs);
  while (true) {
    uint32_t found = word.load(std::memory_order_acquire);
    if (found == wanted)
      return WaitResult::Done;
    if (aborted.load(std::memory_order_relaxed))
      return WaitResult::Aborted;
    if (std::chrono::steady_clock::now() >= deadline)
      return WaitResult::TimedOut;
    futexWait(word, found);
  }
}

WaitResult Barrier::wait() {
  uint32_t before = generation.load(std::memory_order_acquire);
  if (aborted.load(std::memory_order_relaxed))
    return WaitResult::Aborted;
  if (arrived.fetch_add(1, std::memory_order_acq_rel) == members - 1) {
    arrived.store(0, std::memory_order_relaxed);
    // Sequentially consistent with the sleeper's announcement: one of the two sees the other.
    generation.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst) > 0)
      futexWakeAll(generation);
    return WaitResult::Done;
  }
  for (int64_t turn = 0; turn < policy.spin + policy.yield; ++turn) {
    if (generation.load(std::memory_order_acquire) != before)
      return WaitResult::Done;
    if (turn < policy.spin)
      pause();
    else
      ::sched_yield();
  }
  return sleep(before);
}

WaitResult Barrier::sleep(uint32_t before) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(policy.timeoutMs);
  while (true) {
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    if (generation.load(std::memory_order_seq_cst) == before)
      futexWait(generation, before);
    sleepers.fetch_sub(1, std::memory_order_relaxed);
    if (generation.load(std::memory_order_acquire) != before)
      return WaitResult::Done;
    if (aborted.load(std::memory_order_relaxed))
      return WaitResult::Aborted;
    if (std::chrono::steady_clock::now() >= deadline)
      return WaitResult::TimedOut;
  }
}

} // namespace ptlrt
