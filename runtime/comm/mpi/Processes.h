//===- Processes.h - One rank per process ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The processes that a launcher such as mpirun started: found by its environment
// variables, joined by libptlrt_mpi.so. Here are the things that they do together
// outside of collectives: agree on whether all is well, hand results to the first
// one, read each other's memory. All calls of one process come from one thread at
// a time.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_COMM_MPI_PROCESSES_H
#define PTLRT_COMM_MPI_PROCESSES_H

#include "runtime/comm/local/Barrier.h"
#include "runtime/comm/mpi/MpiApi.h"
#include "runtime/core/Status.h"
#include <memory>
#include <span>
#include <vector>

namespace ptlrt {

class Processes {
public:
  /// Whether a launcher started this process, and ranks shall be processes.
  static bool areLaunched();
  /// The number that the launcher gave this process, before the processes have joined.
  static int launchedRank();
  /// Loads the library and waits for the other processes.
  static Expected<std::unique_ptr<Processes>> join();
  /// Leaves the others, who must leave, too.
  ~Processes();
  Processes(const Processes &) = delete;
  Processes &operator=(const Processes &) = delete;

  int rank() const { return self; }
  int ranks() const { return count; }
  /// Processes on this machine.
  int here() const { return neighbours; }
  const PtlrtMpiApi &mpi() const { return *api; }

  /// Waits until all processes have come, and serves them meanwhile. Returns the first one that
  /// `failed`, or -1; after a failure all calls return that process at once.
  int settle(bool failed);
  /// Ends all processes with status 1. What several meet at once is said by the first of them: the
  /// others give way before `message` is printed.
  [[noreturn]] void fail(const std::string &message);

  /// Gives the bytes of all processes to process 0; the others get an empty list. A failure ends
  /// all processes, for it would leave requests that use the caller's memory.
  std::vector<std::vector<uint8_t>> collect(std::span<const uint8_t> mine);
  /// Others may fetch from this memory whenever this process waits.
  void publish(const uint8_t *arena) { published = arena; }
  /// Copies from such memory of another process. A failure ends all processes, as above.
  void fetch(int from, int64_t offset, int64_t bytes, void *to);

  void setPolicy(const WaitPolicy &wanted) { policy = wanted; }
  int64_t timeoutSeconds() const { return policy.timeoutMs / 1000; }
  /// Waits for all requests of `queue` and serves others meanwhile. Returns whether they have
  /// finished within the time of the policy.
  Expected<bool> wait(PtlrtMpiQueue *queue, bool forever = false);
  /// The same, where being late is an error: "waited 600 s in `where`".
  Status finish(PtlrtMpiQueue *queue, const std::string &where);
  /// An error of MPI.
  Status check(int error) const;

private:
  explicit Processes(const PtlrtMpiApi *library) : api(library) {}
  Status start();
  Status listen();
  /// Ends all processes on an error.
  void require(const Status &status);
  /// Answers the fetch of another process if there is one.
  Status serve();

  struct Request {
    int64_t offset, bytes;
  };
  const PtlrtMpiApi *api;
  int self = 0, count = 1, neighbours = 1;
  int failedProcess = -1;
  bool hasStarted = false;
  WaitPolicy policy;
  const uint8_t *published = nullptr;
  PtlrtMpiQueue *own = nullptr;      ///< of this object's calls
  PtlrtMpiQueue *requests = nullptr; ///< the next fetch of another process
  PtlrtMpiQueue *replies = nullptr;  ///< to the one before
  bool isReplying = false;
  Request request{};
};

} // namespace ptlrt

#endif // PTLRT_COMM_MPI_PROCESSES_H
