//===- LocalWorld.cpp - Ranks as threads of one process -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a rank needs for a collective (members, its place, the barrier or the
// rendezvous) is looked up once when it connects; running one allocates nothing.
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
  Status start(int index) override;
  Status wait(int index) override;
  void progress() override {} // threads do their shares when they wait
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
    size_t sortedPlace = 0;
    size_t share = 0; ///< this rank's, by the order that counts for the kind of collective
    Barrier *barrier = nullptr;
    Rendezvous *meeting = nullptr;
    int64_t started = -1; ///< the number at the rendezvous, while it is on its way
    /// Whether a group of one has nothing to do.
    bool isDone(const Collective &collective) const {
      return members.size() == 1 && (collective.kind == CollectiveKind::AllReduce ||
                                     collective.kind == CollectiveKind::Broadcast);
    }
  };
  /// A port's channel, and the numbers there of the step's messages.
  struct Way {
    Channel *channel = nullptr;
    std::vector<int64_t> numbers;
    int64_t next = 0;
  };
  std::span<const Collective> collectives() const { return world.comms[self].collectives; }
  std::span<const Port> ports() const { return world.comms[self].ports; }
  Status meet(int index);
  Status checkOthers(int index) const;
  Status disagreement(int index, int rank, int other) const;
  Status transfer(int index, size_t place, Traffic &traffic);
  Status help(int index, int64_t number, size_t place);
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
    std::map<std::vector<int>, size_t> depths;
    for (const Collective &collective : comms[rank].collectives) {
      std::vector<int> members = mesh.group(rank, collective.axes);
      std::sort(members.begin(), members.end());
      if (collective.overlaps)
        ++depths[members];
      std::unique_ptr<Barrier> &barrier = barriers[members];
      if (!barrier)
        barrier = std::make_unique<Barrier>(static_cast<int>(members.size()), policy, aborted);
    }
    for (const auto &[members, depth] : depths) {
      std::unique_ptr<Rendezvous> &meeting = meetings[members];
      if (!meeting)
        meeting = std::make_unique<Rendezvous>(members.size(), depth, policy, aborted);
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
    seat.sortedPlace = placeIn(seat.sorted);
    bool isSum = collective.kind == CollectiveKind::AllReduce;
    seat.share = isSum ? seat.sortedPlace : placeIn(seat.members);
    seat.barrier = world.barriers.at(seat.sorted).get();
    if (collective.overlaps)
      seat.meeting = world.meetings.at(seat.sorted).get();
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

Status LocalCommunicator::disagreement(int index, int rank, int other) const {
  return failure("runs {}, rank {} runs {}", collectives()[index].describe(world.mesh), rank,
                 other < 0 ? "none" : world.comms[rank].collectives[other].describe(world.mesh));
}

Status LocalCommunicator::checkOthers(int index) const {
  for (int rank : seats[index].sorted)
    if (int other = world.current[rank].load(std::memory_order_relaxed); other != index)
      return disagreement(index, rank, other);
  return Status::ok();
}

Status LocalCommunicator::meet(int index) {
  WaitResult result = seats[index].barrier->wait();
  if (result == WaitResult::Done)
    return Status::ok();
  return explain(result, collectives()[index].describe(world.mesh));
}

/// Does one share of the work, which is that of the member at `place`.
Status LocalCommunicator::transfer(int index, size_t place, Traffic &traffic) {
  const Collective &collective = collectives()[index];
  const Seat &seat = seats[index];
  bool isSorted = collective.kind == CollectiveKind::AllReduce;
  const std::vector<int> &members = isSorted ? seat.sorted : seat.members;
  Transfer transfer{collective, world.arenas, members, seat.sizes, seat.foldSizes, place, traffic};
  switch (collective.kind) {
  case CollectiveKind::AllReduce:
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
  return Status::ok();
}

Status LocalCommunicator::run(int index) {
  const Collective &collective = collectives()[index];
  const Seat &seat = seats[index];
  ++counters[index].calls;
  if (seat.isDone(collective))
    return Status::ok();
  world.current[self].store(index, std::memory_order_relaxed);
  PTLRT_TRY(meet(index));
  PTLRT_TRY(checkOthers(index));
  PTLRT_TRY(transfer(index, seat.share, counters[index]));
  PTLRT_TRY(meet(index));
  world.current[self].store(-1, std::memory_order_relaxed);
  return Status::ok();
}

Status LocalCommunicator::start(int index) {
  Seat &seat = seats[index];
  if (!seat.meeting || seat.started >= 0)
    return failure("{} can't be started", collectives()[index].describe(world.mesh));
  bool isDone = seat.isDone(collectives()[index]);
  seat.started = isDone ? 0 : seat.meeting->start(seat.sortedPlace, index);
  return Status::ok();
}

/// Does a share of a started collective if nobody has begun it.
Status LocalCommunicator::help(int index, int64_t number, size_t place) {
  const Seat &seat = seats[index];
  Rendezvous &meeting = *seat.meeting;
  if (!meeting.claim(number, place))
    return Status::ok();
  for (size_t member = 0; member < seat.sorted.size(); ++member)
    if (int other = meeting.indexOf(number, member); other != index)
      return disagreement(index, seat.sorted[member], other);
  Traffic &traffic = meeting.trafficOf(number, place) = {};
  PTLRT_TRY(transfer(index, place, traffic));
  meeting.finish(number);
  return Status::ok();
}

Status LocalCommunicator::wait(int index) {
  const Collective &collective = collectives()[index];
  Seat &seat = seats[index];
  if (seat.started < 0)
    return failure("{} wasn't started", collective.describe(world.mesh));
  int64_t number = std::exchange(seat.started, -1);
  ++counters[index].calls;
  if (seat.isDone(collective))
    return Status::ok();
  world.current[self].store(index, std::memory_order_relaxed);
  WaitResult result = seat.meeting->awaitStarts(number);
  size_t members = seat.members.size();
  for (size_t i = 0; result == WaitResult::Done && i < members; ++i)
    PTLRT_TRY(help(index, number, (seat.share + i) % members));
  if (result == WaitResult::Done)
    result = seat.meeting->awaitShares(number);
  if (result != WaitResult::Done)
    return explain(result, collective.describe(world.mesh));
  const Traffic &moved = seat.meeting->trafficOf(number, seat.share);
  counters[index].read += moved.read;
  counters[index].written += moved.written;
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
