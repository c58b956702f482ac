//===- MpiWorld.cpp - Ranks as processes ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One MPI communicator per set of axes; all else about a collective is set up when
// the rank connects, so running one allocates nothing. Those that are started
// stand in a queue in that order; the first one moves on whenever there is an
// occasion, and all that stand before one that is run or waited for are finished.
// So messages are the same as if all were run where they are started.
//===----------------------------------------------------------------------===//
#include "runtime/comm/mpi/MpiWorld.h"

#include "runtime/comm/mpi/ExchangeCall.h"
#include "runtime/comm/mpi/Mailbox.h"
#include <algorithm>
#include <map>

namespace ptlrt {

namespace {

class MpiCommunicator : public Communicator {
public:
  MpiCommunicator(Processes &processes, const Mesh &mesh, std::span<const RankComm> comms,
                  uint8_t *arena)
      : processes(processes), mesh(mesh), comms(comms),
        collectives(comms[processes.rank()].collectives), arena(arena),
        counters(collectives.size()), single(processes, 1) {
    for (const Port &port : comms[processes.rank()].ports)
      mailboxes.push_back(std::make_unique<Mailbox>(processes, port, arena));
  }
  /// Makes the communicators, together with all processes.
  Status connect();

  int rank() const override { return processes.rank(); }
  int ranks() const override { return processes.ranks(); }
  Status run(int index) override;
  Status start(int index) override;
  Status wait(int index) override;
  void progress() override;
  Status post(int port, int64_t slot) override {
    PTLRT_TRY(finishStarted());
    return mailboxes[port]->post(slot);
  }
  Status finish(int port, int64_t number) override;
  Status barrier() override;
  Expected<int64_t> agree(int64_t value) override;
  Status fetch(int from, int64_t offset, int64_t bytes, void *to) override {
    processes.fetch(from, offset, bytes, to);
    return Status::ok();
  }
  void abort() override { processes.mpi().abort(1); }
  std::span<const Traffic> traffic() const override { return counters; }

private:
  /// A collective that this rank takes part in.
  struct Seat {
    std::vector<int> members; ///< ranks, ascending: the order of MPI's group
    std::string name;
    Exchange exchange;
    bool isStarted = false;
  };
  Expected<bool> advance(bool waits);
  Status finishStarted();
  Status explain(int index, const Status &status, const Diagnosis &diagnosis) const;
  Status makeGroups();

  Processes &processes;
  const Mesh &mesh;
  std::span<const RankComm> comms;
  std::span<const Collective> collectives;
  uint8_t *arena;
  std::vector<Traffic> counters;
  std::vector<Seat> seats;
  std::map<std::vector<int>, int> groups;          ///< of MPI, by axes, ascending
  std::vector<std::unique_ptr<Mailbox>> mailboxes; ///< by port
  RequestList single;
  std::optional<ExchangeBuffers> buffers;
  std::vector<int> queue;           ///< collectives on their way, in the order of their start
  std::optional<ExchangeCall> call; ///< of the first one
  Status progressError;             ///< met outside of wait()
};

} // namespace

/// One for each set of axes that any rank uses: all processes make all of them, in one order.
Status MpiCommunicator::makeGroups() {
  for (const RankComm &comm : comms)
    for (const Collective &collective : comm.collectives) {
      std::vector<int> axes = collective.axes;
      std::sort(axes.begin(), axes.end());
      groups.try_emplace(axes, 0);
    }
  for (auto &[axes, group] : groups) {
    std::vector<int> members = mesh.group(rank(), axes);
    int first = *std::min_element(members.begin(), members.end());
    PTLRT_TRY(processes.check(processes.mpi().split(first, processes.rank(), &group)));
  }
  return Status::ok();
}

Status MpiCommunicator::connect() {
  PTLRT_TRY(makeGroups());
  size_t largest = 1;
  for (size_t index = 0; index < collectives.size(); ++index) {
    const Collective &collective = collectives[index];
    std::vector<int> order = mesh.group(rank(), collective.axes), sorted = order;
    std::sort(sorted.begin(), sorted.end());
    largest = std::max(largest, sorted.size());
    if (collective.kind == CollectiveKind::Message)
      continue; // behind all collectives
    std::vector<int> axes = collective.axes;
    std::sort(axes.begin(), axes.end());
    if (collective.kind == CollectiveKind::AllReduce)
      order = sorted; // sums ascend, whatever the order of the axes
    std::vector<int64_t> sizes;
    for (int axis : collective.axes)
      sizes.push_back(mesh.size(axis));
    int64_t self = std::find(order.begin(), order.end(), rank()) - order.begin();
    for (int &member : order)
      member = static_cast<int>(std::find(sorted.begin(), sorted.end(), member) - sorted.begin());
    seats.push_back({std::move(sorted), collective.describe(mesh),
                     Exchange(collective, static_cast<int>(index), groups.at(axes),
                              std::move(order), sizes, collective.foldSizes(mesh), self)});
  }
  buffers.emplace(processes, static_cast<int64_t>(largest));
  queue.reserve(seats.size() + 1);
  return Status::ok();
}

Status MpiCommunicator::explain(int index, const Status &status, const Diagnosis &diagnosis) const {
  const Seat &seat = seats[index];
  if (diagnosis.member >= 0)
    return failure("runs {}, rank {} runs {}", seat.name, seat.members[diagnosis.member],
                   seats[diagnosis.index].name);
  if (diagnosis.unfinished.empty())
    return status;
  std::string others;
  for (int member : diagnosis.unfinished)
    others += fmt::format("{} rank {}", others.empty() ? "" : ",", seat.members[member]);
  return failure("{}; unfinished with{}", status.message(), others);
}

/// Lets the first collective of the queue go on; returns whether it is finished.
Expected<bool> MpiCommunicator::advance(bool waits) {
  PTLRT_TRY(progressError);
  int index = queue.front();
  if (!call)
    call.emplace(seats[index].exchange, arena, *buffers, counters[index], seats[index].name);
  Expected<bool> isDone = call->advance(waits);
  if (isDone.isError())
    return explain(index, isDone.status(), call->diagnosis);
  if (*isDone) {
    call.reset();
    queue.erase(queue.begin());
  }
  return isDone;
}

Status MpiCommunicator::finishStarted() {
  while (!queue.empty())
    PTLRT_TRY(advance(/*waits=*/true).status());
  return Status::ok();
}

Status MpiCommunicator::run(int index) {
  queue.push_back(index);
  return finishStarted();
}

Status MpiCommunicator::start(int index) {
  if (!collectives[index].overlaps || seats[index].isStarted)
    return failure("{} can't be started", seats[index].name);
  seats[index].isStarted = true;
  queue.push_back(index);
  progress();
  return Status::ok();
}

void MpiCommunicator::progress() {
  while (!queue.empty()) {
    Expected<bool> isDone = advance(/*waits=*/false);
    if (isDone.isError())
      progressError = isDone.status();
    if (isDone.isError() || !*isDone)
      return;
  }
}

Status MpiCommunicator::wait(int index) {
  if (!std::exchange(seats[index].isStarted, false))
    return failure("{} wasn't started", seats[index].name);
  while (std::ranges::find(queue, index) != queue.end())
    PTLRT_TRY(advance(/*waits=*/true).status());
  return progressError;
}

Status MpiCommunicator::finish(int port, int64_t number) {
  PTLRT_TRY(mailboxes[port]->finish(number));
  const Port &own = comms[rank()].ports[port];
  if (own.ledger >= 0) {
    ++counters[own.ledger].calls;
    counters[own.ledger].read += own.bytes();
  }
  return Status::ok();
}

Status MpiCommunicator::barrier() {
  PTLRT_TRY(processes.check(processes.mpi().barrier(single.raw(), kAll)));
  return processes.finish(single.raw(), "a barrier");
}

Expected<int64_t> MpiCommunicator::agree(int64_t value) {
  PTLRT_TRY(
      processes.check(processes.mpi().broadcast(single.raw(), kAll, &value, sizeof value, 0)));
  PTLRT_TRY(processes.finish(single.raw(), "an agreement"));
  return value;
}

Expected<std::unique_ptr<Communicator>> MpiWorld::connect(int, uint8_t *arena) {
  auto made = std::make_unique<MpiCommunicator>(processes, mesh, comms, arena);
  processes.publish(arena);
  PTLRT_TRY(made->connect());
  return std::unique_ptr<Communicator>(std::move(made));
}

} // namespace ptlrt
