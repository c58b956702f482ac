//===- ExchangeCall.cpp - One run of a collective by messages -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// All ranks post their messages in the order collect 0, collect 1, give 0, collect
// 2, give 1, …, which is what matches them.
//===----------------------------------------------------------------------===//
#include "runtime/comm/mpi/ExchangeCall.h"

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

Expected<bool> RequestList::finish(bool waits, int tag, const std::string &where,
                                   Diagnosis &diagnosis) {
  int isDone = 1;
  Status status = waits ? processes.finish(queue, where)
                        : processes.check(processes.mpi().test(queue, &isDone));
  if (status.isOk() && !isDone)
    return false;
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
  PTLRT_TRY(status);
  peers.clear();
  return true;
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

ExchangeCall::ExchangeCall(const Exchange &plan, uint8_t *arena, ExchangeBuffers &buffers,
                           Traffic &traffic, const std::string &where)
    : plan(plan), arena(arena), buffers(buffers), traffic(traffic), where(where),
      chunk(buffers.chunk / plan.size), rounds(countRounds()) {
  ++traffic.calls;
}

int64_t ExchangeCall::countRounds() const {
  bool copies = plan.collective.kind == CollectiveKind::AllGather || !plan.gives;
  if (plan.members.size() == 1 && !copies)
    return 0;
  int64_t most = 0;
  for (const std::vector<Share> &list : {std::cref(plan.shares), std::cref(plan.arriving)})
    for (const Share &share : list)
      most = std::max(most, ceilDivide(share.end - share.begin, chunk));
  return most;
}

/// The elements of a share in round `of`, in the arena if they are contiguous there, else copied.
const uint8_t *ExchangeCall::read(const Share &share, int64_t of, int64_t count,
                                  uint8_t *copy) const {
  int64_t from = share.begin + of * chunk;
  if (const uint8_t *place = share.stream.inPlace(arena, from, count))
    return place;
  share.stream.pack(arena, from, count, copy);
  return copy;
}

void ExchangeCall::write(const Share &share, int64_t of, int64_t count, const uint8_t *data) const {
  share.stream.unpack(arena, share.begin + of * chunk, count, data);
}

Status ExchangeCall::beginCollect(int64_t of) {
  RequestList &list = buffers.collecting[of % 2];
  auto own = countOf(plan.self, of);
  for (size_t m = 0; m < plan.members.size(); ++m) {
    if (static_cast<int64_t>(m) == plan.self)
      continue;
    if (own > 0)
      PTLRT_TRY(
          list.receive(plan.group, buffers.received(of, m), own * plan.size, plan.members[m]));
    traffic.read += own * plan.size;
    if (int64_t count = countOf(m, of))
      PTLRT_TRY(list.send(plan.group, read(plan.shares[m], of, count, buffers.sent(of, m)),
                          count * plan.size, plan.members[m], plan.tag));
  }
  return Status::ok();
}

void ExchangeCall::combine(int64_t count) {
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

void ExchangeCall::endCollect() {
  int64_t count = countOf(plan.self, round);
  if (count == 0)
    return;
  for (size_t m = 0; m < plan.members.size(); ++m)
    buffers.operands[m] = static_cast<int64_t>(m) == plan.self
                              ? const_cast<uint8_t *>(read(plan.shares[m], round, count,
                                                           buffers.sent(round, plan.self)))
                              : buffers.received(round, m);
  combine(count);
  write(plan.own, round, count, buffers.result());
}

Status ExchangeCall::beginGive() {
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
  return Status::ok();
}

void ExchangeCall::endGive() {
  for (size_t m = 0; m < plan.members.size(); ++m)
    if (int64_t count = countOf(m, round); count > 0 && static_cast<int64_t>(m) != plan.self)
      write(plan.shares[m], round, count, buffers.gathered(m));
}

Status ExchangeCall::beginSwap() {
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
  return Status::ok();
}

void ExchangeCall::endSwap() {
  for (size_t m = 0; m < plan.members.size(); ++m)
    if (int64_t count = countOf(plan.arriving[m], round);
        count > 0 && static_cast<int64_t>(m) != plan.self)
      write(plan.arriving[m], round, count, buffers.received(0, m));
}

/// Posts the first messages of a round; those to collect are posted a round ahead.
Status ExchangeCall::begin() {
  if (!plan.collects) {
    phase = plan.gives ? Phase::Give : Phase::Swap;
    return plan.gives ? beginGive() : beginSwap();
  }
  phase = Phase::Collect;
  if (round == 0)
    PTLRT_TRY(beginCollect(0));
  return round + 1 < rounds ? beginCollect(round + 1) : Status::ok();
}

/// What follows when the posted messages have come.
Status ExchangeCall::end() {
  if (phase == Phase::Collect) {
    endCollect();
    if (plan.gives) {
      phase = Phase::Give;
      return beginGive();
    }
  } else if (phase == Phase::Give) {
    endGive();
  } else {
    endSwap();
  }
  ++round;
  phase = Phase::None;
  return Status::ok();
}

Expected<bool> ExchangeCall::advance(bool waits) {
  while (round < rounds) {
    if (phase == Phase::None)
      PTLRT_TRY(begin());
    Expected<bool> isDone = posted().finish(waits, plan.tag, where, diagnosis);
    if (isDone.isError() || !*isDone)
      return isDone;
    PTLRT_TRY(end());
  }
  return true;
}

} // namespace ptlrt
