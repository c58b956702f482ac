//===- Processes.cpp - One rank per process -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Memory is read by messages, not by MPI's one-sided calls: whoever waits answers,
// so nothing depends on how well an MPI progresses those.
//===----------------------------------------------------------------------===//
#include "runtime/comm/mpi/Processes.h"

#include "runtime/core/Env.h"
#include "runtime/core/Log.h"
#include "runtime/core/Number.h"
#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sched.h>
#include <thread>

namespace ptlrt {

namespace {
/// The variables by which a launcher numbers its processes.
struct Launcher {
  const char *rank, *size;
};
} // namespace
static constexpr Launcher kLaunchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                          {"PMI_RANK", "PMI_SIZE"},
                                          {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                                          {"PMIX_RANK", "PMIX_NAMESPACE"}};
static constexpr int kRequestTag = 1, kReplyTag = 2, kCollectTag = 3;
/// The longest message, in bytes.
static constexpr int64_t kMessage = int64_t{4} << 20;

static const Launcher *findLauncher() {
  if (!*env::mpiLibrary()) // ranks are threads, whatever the environment inherited
    return nullptr;
  for (const Launcher &launcher : kLaunchers)
    if (std::getenv(launcher.rank) && std::getenv(launcher.size))
      return &launcher;
  return nullptr;
}

bool Processes::areLaunched() { return findLauncher() != nullptr; }

int Processes::launchedRank() {
  const Launcher *launcher = findLauncher();
  return launcher ? static_cast<int>(parseInteger(std::getenv(launcher->rank)).value_or(0)) : 0;
}

Expected<std::unique_ptr<Processes>> Processes::join() {
  std::string name = env::mpiLibrary();
  // Global, because parts that Open MPI loads by itself look for its symbols.
  void *handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!handle)
    return failure("a launcher started this program ({} is set), but its library for MPI can't be "
                   "loaded ({}); install an MPI and build the runtime with it, or set "
                   "PTL_MPI_LIBRARY (to nothing: ranks are threads)",
                   findLauncher()->rank, ::dlerror());
  auto *entry = reinterpret_cast<PtlrtMpiEntry *>(::dlsym(handle, kMpiEntry));
  const PtlrtMpiApi *api = entry ? entry() : nullptr;
  if (!api || api->version != kMpiApiVersion)
    return failure("'{}' isn't this runtime's library for MPI, or one of another version", name);
  std::unique_ptr<Processes> joined(new Processes(api));
  PTLRT_TRY(joined->start());
  return joined;
}

Status Processes::start() {
  PTLRT_TRY(check(api->start(&self, &count, &neighbours)));
  hasStarted = true;
  own = api->makeQueue(2);
  requests = api->makeQueue(1);
  replies = api->makeQueue(1);
  return listen();
}

Processes::~Processes() {
  for (PtlrtMpiQueue *queue : {own, requests, replies})
    if (queue)
      api->freeQueue(queue);
  if (hasStarted)
    api->finish();
}

Status Processes::check(int error) const {
  return error == 0 ? Status::ok() : failure("MPI: {}", api->explain(error));
}

Status Processes::listen() {
  isReplying = false;
  return check(api->receive(requests, kServices, &request, sizeof request, -1, kRequestTag));
}

Status Processes::serve() {
  int isDone = 0;
  PTLRT_TRY(check(api->test(isReplying ? replies : requests, &isDone)));
  if (!isDone)
    return Status::ok();
  if (isReplying)
    return listen();
  isReplying = true;
  return check(api->send(replies, kServices, published + request.offset,
                         static_cast<int>(request.bytes), api->sourceOf(requests, 0), kReplyTag));
}

Expected<bool> Processes::wait(PtlrtMpiQueue *queue, bool forever) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point deadline;
  for (int64_t turn = 0;; ++turn) {
    int isDone = 0;
    PTLRT_TRY(check(api->test(queue, &isDone)));
    if (isDone)
      return true;
    bool wasReplying = isReplying;
    PTLRT_TRY(serve());
    if (isReplying != wasReplying)
      turn = 0; // whoever fetches seldom fetches once
    if (turn < policy.spin)
      continue;
    if (turn < policy.spin + policy.yield) {
      ::sched_yield();
      continue;
    }
    if (deadline == Clock::time_point())
      deadline = Clock::now() + std::chrono::milliseconds(policy.timeoutMs);
    else if (!forever && Clock::now() >= deadline)
      return false;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

Status Processes::finish(PtlrtMpiQueue *queue, const std::string &where) {
  Expected<bool> done = wait(queue);
  if (done.isError())
    return failure("{}: {}", where, done.message());
  return *done ? Status::ok() : failure("waited {} s in {}", timeoutSeconds(), where);
}

void Processes::require(const Status &status) {
  if (status.isError())
    fail(fmt::format("rank {}: {}", self, status.message()));
}

int Processes::settle(bool failed) {
  if (failedProcess >= 0)
    return failedProcess;
  int mine = failed ? self : INT_MAX, first = INT_MAX;
  Status status = check(api->least(own, kAll, &mine, &first));
  if (status.isOk()) {
    Expected<bool> done = wait(own, /*forever=*/true);
    status = done.status();
  }
  require(status);
  failedProcess = first == INT_MAX ? -1 : first;
  return failedProcess;
}

void Processes::fail(const std::string &message) {
  constexpr int kMost = 10;
  std::this_thread::sleep_for(std::chrono::milliseconds(100) * std::min(self, kMost));
  printError(message);
  api->abort(1);
  std::abort();
}

std::vector<std::vector<uint8_t>> Processes::collect(std::span<const uint8_t> mine) {
  std::vector<std::vector<uint8_t>> all;
  auto transfer = [&](int other, uint8_t *data, int64_t bytes) {
    for (int64_t done = 0; done < bytes; done += kMessage) {
      auto part = static_cast<int>(std::min(kMessage, bytes - done));
      require(check(self == 0 ? api->receive(own, kAll, data + done, part, other, kCollectTag)
                              : api->send(own, kAll, data + done, part, other, kCollectTag)));
      require(finish(own, fmt::format("collecting results with rank {}", other)));
    }
  };
  auto size = static_cast<int64_t>(mine.size());
  if (self != 0) {
    transfer(0, reinterpret_cast<uint8_t *>(&size), sizeof size);
    transfer(0, const_cast<uint8_t *>(mine.data()), size);
    return all;
  }
  all.emplace_back(mine.begin(), mine.end());
  for (int other = 1; other < count; ++other) {
    transfer(other, reinterpret_cast<uint8_t *>(&size), sizeof size);
    all.emplace_back(size);
    transfer(other, all.back().data(), size);
  }
  return all;
}

void Processes::fetch(int from, int64_t offset, int64_t bytes, void *to) {
  if (from == self) {
    std::memcpy(to, published + offset, bytes);
    return;
  }
  for (int64_t done = 0; done < bytes; done += kMessage) {
    Request wish{offset + done, std::min(kMessage, bytes - done)};
    require(check(api->receive(own, kServices, static_cast<uint8_t *>(to) + done,
                               static_cast<int>(wish.bytes), from, kReplyTag)));
    require(check(api->send(own, kServices, &wish, sizeof wish, from, kRequestTag)));
    require(finish(own, fmt::format("reading memory of rank {}", from)));
  }
}

} // namespace ptlrt
