//===- Pool.cpp - The worker threads of one rank --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A round is published by counting `round` up; workers look at it in a short loop
// and then sleep in the kernel. Tasks follow each other within microseconds inside
// a step, so the loop mostly wins; with more threads than cores it would only take
// the core from a thread that works, so it is left out then.
//===----------------------------------------------------------------------===//
#include "runtime/device/cpu/Pool.h"

#include <immintrin.h>

namespace ptlrt::cpu {

static constexpr int kSpins = 4000; // some 50 to 100 microseconds

Pool::Pool(int threads)
    : spins(static_cast<unsigned>(threads) <= std::thread::hardware_concurrency() ? kSpins : 0) {
  for (int i = 1; i < threads; ++i)
    workers.emplace_back(&Pool::work, this, i);
}

Pool::~Pool() {
  stopping = true;
  round.fetch_add(1, std::memory_order_release);
  round.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

/// Waits, first awake, until `value` isn't `old`.
static void waitForChange(const std::atomic<uint32_t> &value, uint32_t old, int spins) {
  for (int i = 0; i < spins; ++i) {
    if (value.load(std::memory_order_acquire) != old)
      return;
    _mm_pause();
  }
  value.wait(old, std::memory_order_acquire);
}

void Pool::runShare(int thread) const {
  int64_t count = threads();
  int64_t begin = pieces * thread / count, end = pieces * (thread + 1) / count;
  for (int64_t i = begin; i < end; ++i)
    task(context, i, thread);
}

void Pool::work(int thread) {
  for (uint32_t seen = 0;; ++seen) {
    waitForChange(round, seen, spins);
    if (stopping)
      return;
    runShare(thread);
    if (running.fetch_sub(1, std::memory_order_acq_rel) == 1)
      running.notify_one();
  }
}

void Pool::run(int64_t count, Task newTask, void *newContext) {
  if (workers.empty() || count <= 1) {
    for (int64_t i = 0; i < count; ++i)
      newTask(newContext, i, 0);
    return;
  }
  task = newTask;
  context = newContext;
  pieces = count;
  running.store(static_cast<uint32_t>(workers.size()), std::memory_order_relaxed);
  round.fetch_add(1, std::memory_order_release);
  round.notify_all();
  runShare(0);
  while (uint32_t left = running.load(std::memory_order_acquire))
    waitForChange(running, left, spins);
}

} // namespace ptlrt::cpu
