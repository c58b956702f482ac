//===- Library.cpp - libptlrt_mpi.so --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The only file that sees mpi.h. MPI's handles stay here: communicators are
// numbers, requests and statuses lie in queues.
//===----------------------------------------------------------------------===//
#include "runtime/comm/mpi/MpiApi.h"

#include <mpi.h>
#include <vector>

struct PtlrtMpiQueue {
  std::vector<MPI_Request> requests;
  std::vector<MPI_Status> statuses;
  int count = 0;
};

static std::vector<MPI_Comm> &groups() {
  static std::vector<MPI_Comm> all;
  return all;
}

static int addGroup(MPI_Comm made, int *group) {
  groups().push_back(made);
  *group = static_cast<int>(groups().size()) - 1;
  return MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
}

static int start(int *rank, int *ranks, int *here) {
  int provided = 0, group = 0;
  if (int error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided))
    return error;
  if (provided < MPI_THREAD_SERIALIZED)
    return MPI_ERR_OTHER;
  MPI_Comm services = MPI_COMM_NULL, machine = MPI_COMM_NULL;
  if (int error = addGroup(MPI_COMM_WORLD, &group))
    return error;
  if (int error = MPI_Comm_dup(MPI_COMM_WORLD, &services))
    return error;
  if (int error = addGroup(services, &group))
    return error;
  MPI_Comm_rank(MPI_COMM_WORLD, rank);
  MPI_Comm_size(MPI_COMM_WORLD, ranks);
  if (int error =
          MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine))
    return error;
  MPI_Comm_size(machine, here);
  return MPI_Comm_free(&machine);
}

static int finish() {
  for (MPI_Comm &group : groups())
    if (group != MPI_COMM_WORLD)
      MPI_Comm_free(&group);
  groups().clear();
  return MPI_Finalize();
}

static void abortAll(int status) { MPI_Abort(MPI_COMM_WORLD, status); }

static const char *explain(int error) {
  static char text[MPI_MAX_ERROR_STRING + 1];
  int length = 0;
  if (MPI_Error_string(error, text, &length) != MPI_SUCCESS)
    return "unknown error of MPI";
  return text;
}

static int split(int colour, int key, int *group) {
  MPI_Comm made = MPI_COMM_NULL;
  if (int error = MPI_Comm_split(MPI_COMM_WORLD, colour, key, &made))
    return error;
  return addGroup(made, group);
}

static PtlrtMpiQueue *makeQueue(int capacity) {
  auto *queue = new PtlrtMpiQueue;
  queue->requests.resize(capacity, MPI_REQUEST_NULL);
  queue->statuses.resize(capacity);
  return queue;
}

static void freeQueue(PtlrtMpiQueue *queue) {
  for (int i = 0; i < queue->count; ++i)
    if (queue->requests[i] != MPI_REQUEST_NULL) {
      MPI_Cancel(&queue->requests[i]);
      MPI_Request_free(&queue->requests[i]);
    }
  delete queue;
}

/// Adds the request that `begin` writes to the place that it is given.
template <typename Begin> static int add(PtlrtMpiQueue *queue, Begin &&begin) {
  if (queue->count == static_cast<int>(queue->requests.size()))
    return MPI_ERR_INTERN;
  return begin(&queue->requests[queue->count++]);
}

static int send(PtlrtMpiQueue *queue, int group, const void *data, int bytes, int to, int tag) {
  return add(queue, [=](MPI_Request *request) {
    return MPI_Isend(data, bytes, MPI_BYTE, to, tag, groups()[group], request);
  });
}

static int receive(PtlrtMpiQueue *queue, int group, void *data, int bytes, int from, int tag) {
  return add(queue, [=](MPI_Request *request) {
    return MPI_Irecv(data, bytes, MPI_BYTE, from < 0 ? MPI_ANY_SOURCE : from,
                     tag < 0 ? MPI_ANY_TAG : tag, groups()[group], request);
  });
}

static int barrier(PtlrtMpiQueue *queue, int group) {
  return add(queue, [=](MPI_Request *request) { return MPI_Ibarrier(groups()[group], request); });
}

static int broadcast(PtlrtMpiQueue *queue, int group, void *data, int bytes, int root) {
  return add(queue, [=](MPI_Request *request) {
    return MPI_Ibcast(data, bytes, MPI_BYTE, root, groups()[group], request);
  });
}

static int least(PtlrtMpiQueue *queue, int group, const int *mine, int *result) {
  return add(queue, [=](MPI_Request *request) {
    return MPI_Iallreduce(mine, result, 1, MPI_INT, MPI_MIN, groups()[group], request);
  });
}

static int test(PtlrtMpiQueue *queue, int *isDone) {
  int error = MPI_Testall(queue->count, queue->requests.data(), isDone, queue->statuses.data());
  if (error == MPI_ERR_IN_STATUS)
    for (int i = 0; i < queue->count; ++i)
      if (int own = queue->statuses[i].MPI_ERROR; own != MPI_SUCCESS && own != MPI_ERR_PENDING)
        return own;
  if (error == MPI_SUCCESS && *isDone)
    queue->count = 0;
  return error;
}

static int isFinished(PtlrtMpiQueue *queue, int request) {
  // A null request was finished by `test`, which wrote its status.
  if (queue->requests[request] == MPI_REQUEST_NULL)
    return 1;
  int isDone = 0;
  // One that MPI can't tell of has no status to read.
  int error = MPI_Request_get_status(queue->requests[request], &isDone, &queue->statuses[request]);
  return error == MPI_SUCCESS && isDone;
}

static int sourceOf(const PtlrtMpiQueue *queue, int request) {
  return queue->statuses[request].MPI_SOURCE;
}

static int tagOf(const PtlrtMpiQueue *queue, int request) {
  return queue->statuses[request].MPI_TAG;
}

extern "C" __attribute__((visibility("default"))) const PtlrtMpiApi *ptlrt_mpi_api() {
  static constexpr PtlrtMpiApi kApi = {ptlrt::kMpiApiVersion,
                                       start,
                                       finish,
                                       abortAll,
                                       explain,
                                       split,
                                       makeQueue,
                                       freeQueue,
                                       send,
                                       receive,
                                       barrier,
                                       broadcast,
                                       least,
                                       test,
                                       isFinished,
                                       sourceOf,
                                       tagOf};
  return &kApi;
}
