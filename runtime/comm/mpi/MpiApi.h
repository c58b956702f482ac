//===- MpiApi.h - What libptlrt_mpi.so offers -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A table of C functions, so that programs don't link MPI: the library is built
// against the MPI at hand and loaded when a launcher started the program. Only
// what needs MPI's own types is in it. Functions return 0 or an error of MPI,
// which `explain` puts into words. They are called by one thread at a time.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_COMM_MPI_MPIAPI_H
#define PTLRT_COMM_MPI_MPIAPI_H

#include <cstdint>

extern "C" {

/// Requests that are finished together.
struct PtlrtMpiQueue;

struct PtlrtMpiApi {
  uint32_t version; ///< kMpiApiVersion of the library's build

  /// Initialises MPI: this process's number, how many there are, and how many on this machine.
  int (*start)(int *rank, int *ranks, int *here);
  int (*finish)();
  /// Ends all processes; doesn't return.
  void (*abort)(int status);
  const char *(*explain)(int error);

  /// Makes a communicator of the processes with the same `colour`, in the order of `key`. All
  /// processes call it. Groups are numbered from 1; 0 holds all processes, 1 is a second one of
  /// these, made by `start`.
  int (*split)(int colour, int key, int *group);

  PtlrtMpiQueue *(*makeQueue)(int capacity);
  void (*freeQueue)(PtlrtMpiQueue *queue); ///< cancels what isn't finished
  /// These add a request, or fail if the queue is full. `bytes` is less than 2^31; `from` or `tag`
  /// -1 take a message of any.
  int (*send)(PtlrtMpiQueue *queue, int group, const void *data, int bytes, int to, int tag);
  int (*receive)(PtlrtMpiQueue *queue, int group, void *data, int bytes, int from, int tag);
  int (*barrier)(PtlrtMpiQueue *queue, int group);
  int (*broadcast)(PtlrtMpiQueue *queue, int group, void *data, int bytes, int root);
  int (*least)(PtlrtMpiQueue *queue, int group, const int *mine, int *least);
  /// Whether all requests are finished; an empty queue's are. The queue is empty afterwards.
  int (*test)(PtlrtMpiQueue *queue, int *isDone);
  /// Whether one request, in the order of their beginning, is finished, with success or not.
  int (*isFinished)(PtlrtMpiQueue *queue, int request);
  /// Of requests that `test` or `isFinished` found finished.
  int (*sourceOf)(const PtlrtMpiQueue *queue, int request);
  int (*tagOf)(const PtlrtMpiQueue *queue, int request);
};

/// The one symbol of the library.
using PtlrtMpiEntry = const PtlrtMpiApi *();
}

namespace ptlrt {
inline constexpr uint32_t kMpiApiVersion = 2;
inline constexpr const char *kMpiEntry = "ptlrt_mpi_api";
inline constexpr int kAll = 0, kServices = 1; ///< groups
} // namespace ptlrt

#endif // PTLRT_COMM_MPI_MPIAPI_H
