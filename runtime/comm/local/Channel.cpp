//===- Channel.cpp - Messages between two threads -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/comm/local/Channel.h"

#include <cstring>

namespace ptlrt {

static Layout inSlot(const MessageSegment &segment, int64_t slot) {
  Layout layout = segment.layout;
  layout.offset += slot * segment.slotStride;
  return layout;
}

Status Channel::copy(const Entry &entry) {
  const Port &from = *entry.source.port, &to = *entry.target.port;
  if (from.label != to.label || from.segments.size() != to.segments.size())
    return failure("message {} of rank {} meets message {} of rank {}", from.label, to.peer,
                   to.label, from.peer);
  for (size_t i = 0; i < from.segments.size(); ++i) {
    const MessageSegment &source = from.segments[i], &target = to.segments[i];
    if (source.bytes() != target.bytes())
      return failure("message {} has {} bytes, {} are expected", from.label, source.bytes(),
                     target.bytes());
    int64_t size = elementSize(source.element);
    forEachPair(inSlot(source, entry.source.slot), 0, inSlot(target, entry.target.slot), 0, size,
                source.elements(), [&](int64_t at, int64_t other, int64_t elements) {
                  std::memcpy(entry.target.arena + other, entry.source.arena + at, elements * size);
                });
  }
  return Status::ok();
}

Expected<int64_t> Channel::post(const MessageEnd &end) {
  std::unique_lock<std::mutex> guard(lock);
  bool sends = end.port->sends;
  int64_t number = sends ? sent++ : received++;
  auto count = static_cast<int64_t>(entries.size());
  Entry &entry = entries[number % count];
  (sends ? entry.source : entry.target) = end;
  bool isSecond = number < (sends ? received : sent);
  guard.unlock();
  if (!isSecond)
    return number;
  PTLRT_TRY(copy(entry));
  auto round = static_cast<uint32_t>(number / count + 1);
  announce(entry.finished, round);
  return number;
}

WaitResult Channel::wait(int64_t number) {
  auto count = static_cast<int64_t>(entries.size());
  auto round = static_cast<uint32_t>(number / count + 1);
  return await(entries[number % count].finished, round, policy, aborted);
}

} // namespace ptlrt
