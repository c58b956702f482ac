//===- Exchange.cpp - One rank's part of a collective by messages ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// All ranks post their messages in the order collect 0, collect 1, give 0, collect
// 2, give 1, …, which is what matches them.
//===----------------------------------------------------------------------===//
#include "runtime/comm/mpi/Exchange.h"

#include "runtime/comm/local/Reduce.h"
#include <algorithm>
#include <cstring>
#include <functional>

namespace ptlrt {

Status RequestList::send(int group, const uint8_t *data, int64_t bytes, int to, int tag) {
  peers.push_back({to, false});
  return processes.check(
      processes.mpi().send(queue, group, data, static_cast<int>(bytes), to, tag));
}

Status RequestList::receive(int group, uint8_t *data, int64_t bytes, int from) {
  peers.push_back({from, true});
  return processes.check(
      processes.mpi().receive(queue, group, data, static_cast<int>(bytes), from, -1));
}

Status RequestList::finish(int tag, const std::string &where, Diagnosis &diagnosis) {
  Status status = processes.finish(queue, where);
  // Tags are read after an error, too: messages of another collective may be too long for this
  // one's memory, or keep the others from coming.
  for (size_t i = 0; i < peers.size(); ++i) {
    auto request = static_cast<int>(i);
    auto [member, sends] = peers[i];
    if (status.isError() && !processes.mpi().isFinished(queue, request)) {
      if (std::ranges::find(diagnosis.unfinished, member) == diagnosis.unfinished.end())
        diagnosis.unfinished.push_back(member);
      continue;
    }
    int found = sends ? processes.mpi().tagOf(queue, request) : tag;
    if (found == tag)
      continue;
    diagnosis.member = member;
    diagnosis.index = found;
    return failure("ranks disagree");
  }
  if (status.isOk())
    peers.clear();
  return status;
}

static int64_t chunkFor(int64_t members) {
  constexpr int64_t kLeast = int64_t{64} << 10, kMost = int64_t{1} << 20, kAll = int64_t{8} << 20;
  return std::clamp(kAll / members / 64 * 64, kLeast, kMost);
}

ExchangeBuffers::ExchangeBuffers(Processes &processes, int64_t members)
    : members(members), chunk(chunkFor(members)),
      collecting{{processes, static_cast<int>(2 * members)},
                 {processes, static_cast<int>(2 * members)}},
      giving(processes, static_cast<int>(2 * members)), operands(members),
      // Memory that isn't touched costs nothing: contiguous data are sent from where they lie.
      bytes(new uint8_t[(5 * members + 1) * chunk]) {}

Exchange::Exchange(const Collective &collective, int tag, int group, std::vector<int> members,
                   std::span<const int64_t> sizes, std::vector<int64_t> foldSizes, int64_t self)
    : collective(collective), tag(tag), group(group), members(std::move(members)),
      foldSizes(std::move(foldSizes)), self(self), size(elementSize(collective.element)),
      collects(collective.kind == CollectiveKind::AllReduce ||
               collective.kind == CollectiveKind::ReduceScatter),
      gives(collective.kind != CollectiveKind::ReduceScatter &&
            collective.kind != CollectiveKind::AllToAll &&
            collective.kind != CollectiveKind::Permute),
      shares(this->members.size()) {
  switch (collective.kind) {
  case CollectiveKind::AllReduce:
    cutAllReduce();
    break;
  case CollectiveKind::Broadcast:
    cutBroadcast();
    break;
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
    cutPieces(sizes);
    break;
  case CollectiveKind::AllToAll:
    cutExchange(sizes);
    break;
  case CollectiveKind::Permute:
    cutPermute();
    break;
  case CollectiveKind::Message:
    break; // a mailbox's
  }
}

void Exchange::cutAllReduce() {
  constexpr int64_t kUnit = 16;
  auto count = static_cast<int64_t>(members.size());
  Stream whole = Stream::whole(collective);
  int64_t total = whole.elements(), units = ceilDivide(total, kUnit);
  for (int64_t m = 0; m < count; ++m)
    shares[m] = {whole, std::min(units * m / count * kUnit, total),
                 std::min(units * (m + 1) / count * kUnit, total)};
  own = shares[self];
}

void Exchange::cutBroadcast() {
  Stream whole = Stream::whole(collective);
  shares[collective.root] = {whole, 0, whole.elements()};
  own = shares[self];
}

void Exchange::cutPieces(std::span<const int64_t> sizes) {
  auto count = static_cast<int64_t>(members.size());
  for (int64_t m = 0; m < count; ++m) {
    Stream stream = Stream::inWhole(collective, m, sizes);
    shares[m] = {stream, 0, stream.elements()};
  }
  own = {Stream::alone(collective, self, sizes), 0, shares[self].end};
}

void Exchange::cutExchange(std::span<const int64_t> sizes) {
  for (int64_t m = 0; m < static_cast<int64_t>(members.size()); ++m) {
    Stream leaving = Stream::exchanged(collective, self, m, sizes, /*atReceiver=*/false);
    shares[m] = {leaving, 0, leaving.elements()};
    Stream coming = Stream::exchanged(collective, m, self, sizes, /*atReceiver=*/true);
    arriving.push_back({coming, 0, coming.elements()});
  }
}

void Exchange::cutPermute() {
  Stream leaving = Stream::whole(collective), coming = Stream::whole(collective, /*ofOut=*/true);
  arriving.resize(members.size());
  arriving[collective.sources[self]] = {coming, 0, coming.elements()};
  for (size_t m = 0; m < members.size(); ++m)
    if (collective.sources[m] == self)
      shares[m] = {leaving, 0, leaving.elements()};
}

/// One run of a collective.
struct Exchange::Call {
  const Exchange &plan;
  uint8_t *arena;
  ExchangeBuffers &buffers;
  Traffic &traffic;
  const std::string &where;
  Diagnosis &diagnosis;
  int64_t chunk; ///< elements

  int64_t countOf(const Share &share, int64_t round) const {
    return std::clamp<int64_t>(share.end - share.begin - round * chunk, 0, chunk);
  }
  int64_t countOf(size_t member, int64_t round) const {
    return countOf(plan.shares[member], round);
  }
  int64_t rounds() const {
    int64_t most = 0;
    for (const std::vector<Share> &list : {std::cref(plan.shares), std::cref(plan.arriving)})
      for (const Share &share : list)
        most = std::max(most, ceilDivide(share.end - share.begin, chunk));
    return most;
  }
  /// The elements of a share in a round, in the arena if they are contiguous there, else copied.
  const uint8_t *read(const Share &share, int64_t round, int64_t count, uint8_t *copy) const {
    int64_t from = share.begin + round * chunk;
    if (const uint8_t *place = share.stream.inPlace(arena, from, count))
      return place;
    share.stream.pack(arena, from, count, copy);
    return copy;
  }
  void write(const Share &share, int64_t round, int64_t count, const uint8_t *data) const {
    share.stream.unpack(arena, share.begin + round * chunk, count, data);
  }
  Status beginCollect(int64_t round);
  Status finishCollect(int64_t round);
  void combine(int64_t count);
  Status give(int64_t round);
  Status swap(int64_t round);
};

Status Exchange::Call::beginCollect(int64_t round) {
  RequestList &list = buffers.collecting[round % 2];
  auto own = countOf(plan.self, round);
  for (size_t m = 0; m < plan.members.size(); ++m) {
    if (static_cast<int64_t>(m) == plan.self)
      continue;
    if (own > 0)
      PTLRT_TRY(
          list.receive(plan.group, buffers.received(round, m), own * plan.size, plan.members[m]));
    traffic.read += own * plan.size;
    if (int64_t count = countOf(m, round))
      PTLRT_TRY(list.send(plan.group, read(plan.shares[m], round, count, buffers.sent(round, m)),
                          count * plan.size, plan.members[m], plan.tag));
  }
  return Status::ok();
}

void Exchange::Call::combine(int64_t count) {
  std::span<uint8_t *const> operands(buffers.operands.data(), plan.members.size());
  for (int64_t done = 0; done < count;) {
    int64_t part = std::min(kReduceBlock, count - done);
    uint8_t *result[] = {buffers.result() + done * plan.size};
    reduceBlock(plan.collective.reduce, plan.collective.element, plan.foldSizes, operands, result,
                part);
    for (size_t m = 0; m < plan.members.size(); ++m)
      buffers.operands[m] += part * plan.size;
    done += part;
  }
}

Status Exchange::Call::finishCollect(int64_t round) {
  PTLRT_TRY(buffers.collecting[round % 2].finish(plan.tag, where, diagnosis));
  int64_t count = countOf(plan.self, round);
  if (count == 0)
    return Status::ok();
  for (size_t m = 0; m < plan.members.size(); ++m)
    buffers.operands[m] = static_cast<int64_t>(m) == plan.self
                              ? const_cast<uint8_t *>(read(plan.shares[m], round, count,
                                                           buffers.sent(round, plan.self)))
                              : buffers.received(round, m);
  combine(count);
  write(plan.own, round, count, buffers.result());
  return Status::ok();
}

Status Exchange::Call::give(int64_t round) {
  int64_t own = countOf(plan.self, round);
  const uint8_t *mine = own > 0 ? read(plan.own, round, own, buffers.result()) : nullptr;
  for (size_t m = 0; m < plan.members.size(); ++m) {
    if (static_cast<int64_t>(m) == plan.self)
      continue;
    if (int64_t count = countOf(m, round)) {
      PTLRT_TRY(buffers.giving.receive(plan.group, buffers.gathered(m), count * plan.size,
                                       plan.members[m]));
      traffic.read += count * plan.size;
    }
    if (own > 0)
      PTLRT_TRY(buffers.giving.send(plan.group, mine, own * plan.size, plan.members[m], plan.tag));
  }
  bool moves = plan.shares[plan.self].stream.inPlace(arena, round * chunk, own) != mine;
  if (own > 0 && plan.collective.kind == CollectiveKind::AllGather && moves)
    write(plan.shares[plan.self], round, own, mine);
  PTLRT_TRY(buffers.giving.finish(plan.tag, where, diagnosis));
  for (size_t m = 0; m < plan.members.size(); ++m)
    if (int64_t count = countOf(m, round); count > 0 && static_cast<int64_t>(m) != plan.self)
      write(plan.shares[m], round, count, buffers.gathered(m));
  return Status::ok();
}

Status Exchange::Call::swap(int64_t round) {
  RequestList &list = buffers.collecting[0];
  for (size_t m = 0; m < plan.members.size(); ++m) {
    if (static_cast<int64_t>(m) == plan.self)
      continue;
    if (int64_t count = countOf(plan.arriving[m], round)) {
      PTLRT_TRY(
          list.receive(plan.group, buffers.received(0, m), count * plan.size, plan.members[m]));
      traffic.read += count * plan.size;
    }
    if (int64_t count = countOf(m, round))
      PTLRT_TRY(list.send(plan.group, read(plan.shares[m], round, count, buffers.sent(0, m)),
                          count * plan.size, plan.members[m], plan.tag));
  }
  if (int64_t count = countOf(plan.self, round))
    write(plan.arriving[plan.self], round, count,
          read(plan.shares[plan.self], round, count, buffers.result()));
  PTLRT_TRY(list.finish(plan.tag, where, diagnosis));
  for (size_t m = 0; m < plan.members.size(); ++m)
    if (int64_t count = countOf(plan.arriving[m], round);
        count > 0 && static_cast<int64_t>(m) != plan.self)
      write(plan.arriving[m], round, count, buffers.received(0, m));
  return Status::ok();
}

Status Exchange::run(uint8_t *arena, ExchangeBuffers &buffers, Traffic &traffic,
                     const std::string &where, Diagnosis &diagnosis) const {
  ++traffic.calls;
  bool copies = collective.kind == CollectiveKind::AllGather || !gives;
  if (members.size() == 1 && !copies)
    return Status::ok();
  Call call{*this, arena, buffers, traffic, where, diagnosis, buffers.chunk / size};
  int64_t rounds = call.rounds();
  if (collects && rounds > 0)
    PTLRT_TRY(call.beginCollect(0));
  for (int64_t round = 0; round < rounds; ++round) {
    if (collects && round + 1 < rounds)
      PTLRT_TRY(call.beginCollect(round + 1));
    if (collects)
      PTLRT_TRY(call.finishCollect(round));
    if (gives)
      PTLRT_TRY(call.give(round));
    if (!collects && !gives)
      PTLRT_TRY(call.swap(round));
  }
  return Status::ok();
}

} // namespace ptlrt
