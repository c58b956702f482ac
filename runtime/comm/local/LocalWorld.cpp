//===- LocalWorld.cpp - Ranks as threads of one process -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a rank needs for a collective (members, its place, the barrier) is looked
// up once when it connects; running one allocates nothing.
//===----------------------------------------------------------------------===//
#include "runtime/comm/local/LocalWorld.h"

#include "runtime/comm/local/Transfer.h"
#include <algorithm>
#include <cstring>

namespace ptlrt {

/// One rank's end.
class LocalCommunicator : public Communicator {
public:
  LocalCommunicator(LocalWorld &world, int rank);

  int rank() const override { return self; }
  int ranks() const override { return static_cast<int>(world.arenas.size()); }
  Status run(int index) override;
  Status post(int port, int64_t slot) override;
  Status finish(int port, int64_t number) override;
  Status barrier() override {
    WaitResult result = world.everyone.wait();
    return result == WaitResult::Done ? Status::ok() : explain(result, "a barrier");
  }
  Expected<int64_t> agree(int64_t value) override;
  Status fetch(int from, int64_t offset, int64_t bytes, void *to) override {
    std::memcpy(to, world.arenas[from] + offset, bytes);
    return Status::ok();
  }
  void abort() override { world.abort(); }
  std::span<const Traffic> traffic() const override { return counters; }

private:
  struct Seat {
    std::vector<int> members;   ///< for gathers and scatters: in the order of the axes
    std::vector<int> sorted;    ///< for sums: ascending
    std::vector<int64_t> sizes; ///< of the axes
    std::vector<int64_t> foldSizes;
    size_t place = 0, sortedPlace = 0;
    Barrier *barrier = nullptr;
  };
  /// A port's channel, and the numbers there of the step's messages.
  struct Way {
    Channel *channel = nullptr;
    std::vector<int64_t> numbers;
    int64_t next = 0;
  };
  std::span<const Collective> collectives() const { return world.comms[self].collectives; }
  std::span<const Port> ports() const { return world.comms[self].ports; }
  Status wait(int index);
  Status checkOthers(int index) const;
  Status explain(WaitResult result, const std::string &where) const;

  LocalWorld &world;
  int self;
  std::vector<Seat> seats;
  std::vector<Way> ways; ///< by port
  std::vector<Traffic> counters;
  uint64_t agreements = 0;
};

LocalWorld::LocalWorld(const Mesh &mesh, std::vector<RankComm> ranks, const WaitPolicy &policy)
    : mesh(mesh), comms(std::move(ranks)), policy(policy), everyone(mesh.ranks(), policy, aborted),
      arenas(mesh.ranks()), current(std::make_unique<std::atomic<int>[]>(mesh.ranks())) {
  for (int rank = 0; rank < mesh.ranks(); ++rank) {
    current[rank] = -1;
    std::map<int, int64_t> messages; ///< of a step, by receiver
    for (const Port &port : comms[rank].ports)
      if (port.sends)
        messages[port.peer] += port.times;
    for (auto [peer, count] : messages)
      channels[{rank, peer}] = std::make_unique<Channel>(count, policy, aborted);
    for (const Collective &collective : comms[rank].collectives) {
      std::vector<int> members = mesh.group(rank, collective.axes);
      std::sort(members.begin(), members.end());
      std::unique_ptr<Barrier> &barrier = barriers[members];
      if (!barrier)
        barrier = std::make_unique<Barrier>(static_cast<int>(members.size()), policy, aborted);
    }
  }
}

LocalWorld::~LocalWorld() = default;

Expected<std::unique_ptr<Communicator>> LocalWorld::connect(int rank, uint8_t *arena) {
  arenas[rank] = arena;
  return std::unique_ptr<Communicator>(new LocalCommunicator(*this, rank));
}

LocalCommunicator::LocalCommunicator(LocalWorld &world, int rank)
    : world(world), self(rank), counters(world.comms[rank].collectives.size()) {
  for (const Port &port : ports()) {
    auto found =
        world.channels.find(port.sends ? std::pair(rank, port.peer) : std::pair(port.peer, rank));
    ways.push_back({found == world.channels.end() ? nullptr : found->second.get(),
                    std::vector<int64_t>(port.times), 0});
  }
  for (const Collective &collective : collectives()) {
    Seat seat;
    seat.members = world.mesh.group(rank, collective.axes);
    seat.sorted = seat.members;
    std::sort(seat.sorted.begin(), seat.sorted.end());
    for (int axis : collective.axes)
      seat.sizes.push_back(world.mesh.size(axis));
    seat.foldSizes = collective.foldSizes(world.mesh);
    auto placeIn = [&](const std::vector<int> &ranks) {
      return static_cast<size_t>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
    };
    seat.place = placeIn(seat.members);
    seat.sortedPlace = placeIn(seat.sorted);
    seat.barrier = world.barriers.at(seat.sorted).get();
    seats.push_back(std::move(seat));
  }
}

Status LocalCommunicator::explain(WaitResult result, const std::string &where) const {
  if (result == WaitResult::Aborted)
    return failure("another rank failed");
  std::string others;
  for (size_t rank = 0; rank < world.arenas.size(); ++rank) {
    int index = world.current[rank].load(std::memory_order_relaxed);
    if (static_cast<int>(rank) != self)
      others += fmt::format(
          "; rank {} is {}", rank,
          index < 0 ? "in no collective"
                    : "in " + world.comms[rank].collectives[index].describe(world.mesh));
  }
  return failure("waited {} s in {}{}", world.policy.timeoutMs / 1000, where, others);
}

Status LocalCommunicator::checkOthers(int index) const {
  for (int rank : seats[index].sorted) {
    int other = world.current[rank].load(std::memory_order_relaxed);
    if (other != index)
      return failure("runs {}, rank {} runs {}", collectives()[index].describe(world.mesh), rank,
                     other < 0 ? "none"
                               : world.comms[rank].collectives[other].describe(world.mesh));
  }
  return Status::ok();
}

Status LocalCommunicator::wait(int index) {
  WaitResult result = seats[index].barrier->wait();
  if (result == WaitResult::Done)
    return Status::ok();
  return explain(result, collectives()[index].describe(world.mesh));
}

Status LocalCommunicator::run(int index) {
  const Collective &collective = collectives()[index];
  const Seat &seat = seats[index];
  ++counters[index].calls;
  bool inPlace =
      collective.kind == CollectiveKind::AllReduce || collective.kind == CollectiveKind::Broadcast;
  if (seat.members.size() == 1 && inPlace)
    return Status::ok();
  world.current[self].store(index, std::memory_order_relaxed);
  PTLRT_TRY(wait(index));
  PTLRT_TRY(checkOthers(index));
  Transfer transfer{collective,     world.arenas, seat.members,   seat.sizes,
                    seat.foldSizes, seat.place,   counters[index]};
  switch (collective.kind) {
  case CollectiveKind::AllReduce:
    transfer.members = seat.sorted;
    transfer.place = seat.sortedPlace;
    transfer.allReduce();
    break;
  case CollectiveKind::AllGather:
    transfer.allGather();
    break;
  case CollectiveKind::ReduceScatter:
    transfer.reduceScatter();
    break;
  case CollectiveKind::AllToAll:
    transfer.allToAll();
    break;
  case CollectiveKind::Permute:
    transfer.permute();
    break;
  case CollectiveKind::Broadcast:
    transfer.broadcast();
    break;
  case CollectiveKind::Message:
    return failure("a message is no collective");
  }
  PTLRT_TRY(wait(index));
  world.current[self].store(-1, std::memory_order_relaxed);
  return Status::ok();
}

Status LocalCommunicator::post(int port, int64_t slot) {
  Way &way = ways[port];
  if (!way.channel)
    return failure("rank {} sends nothing to rank {}", ports()[port].peer, self);
  Expected<int64_t> number = way.channel->post({&ports()[port], world.arenas[self], slot});
  if (number.isError())
    return number.status();
  way.numbers[way.next++ % ports()[port].times] = *number;
  return Status::ok();
}

Status LocalCommunicator::finish(int port, int64_t number) {
  const Port &own = ports()[port];
  WaitResult result = ways[port].channel->wait(ways[port].numbers[number]);
  if (result != WaitResult::Done)
    return explain(result,
                   fmt::format("a message {} rank {}", own.sends ? "to" : "from", own.peer));
  if (own.ledger >= 0) {
    ++counters[own.ledger].calls;
    counters[own.ledger].read += own.bytes();
  }
  return Status::ok();
}

Expected<int64_t> LocalCommunicator::agree(int64_t value) {
  if (ranks() == 1)
    return value;
  // Two places in turns: one is written again only after a barrier that all who read it have
  // passed.
  std::atomic<int64_t> &place = world.agreed[agreements++ % 2];
  if (self == 0)
    place.store(value, std::memory_order_relaxed);
  PTLRT_TRY(barrier());
  return place.load(std::memory_order_relaxed);
}

} // namespace ptlrt
