//===- Pool.h - The worker threads of one rank ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLRT_DEVICE_CPU_POOL_H
#define PTLRT_DEVICE_CPU_POOL_H

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace ptlrt::cpu {

/// A fixed number of threads that run the pieces of one task at a time. Pieces are
/// dealt out in contiguous runs that depend on their number alone, so a rank's
/// memory is always touched by the same thread. The caller is thread 0.
class Pool {
public:
  /// Piece `index` of a task, on thread `thread`.
  using Task = void (*)(void *context, int64_t index, int thread);

  explicit Pool(int threads);
  ~Pool();
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;

  int threads() const { return static_cast<int>(workers.size()) + 1; }

  /// Runs all pieces and returns when they are done. Not to be called from a task.
  void run(int64_t pieces, Task task, void *context);

private:
  void work(int thread);
  void runShare(int thread) const;

  Task task = nullptr;
  void *context = nullptr;
  int64_t pieces = 0;
  bool stopping = false;
  int spins;
  std::atomic<uint32_t> round = 0;   ///< a change publishes the fields above
  std::atomic<uint32_t> running = 0; ///< workers that aren't done with this round
  std::vector<std::thread> workers;
};

} // namespace ptlrt::cpu

#endif // PTLRT_DEVICE_CPU_POOL_H
