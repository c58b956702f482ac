//===- Mailbox.cpp - One end of messages between two processes ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/comm/mpi/Mailbox.h"

#include <climits>
#include <cstring>

namespace ptlrt {

Mailbox::Mailbox(Processes &processes, const Port &port, uint8_t *arena)
    : processes(processes), port(port), arena(arena), slots(port.times) {
  for (int64_t number = 0; number < port.times; ++number)
    queues.push_back(processes.mpi().makeQueue(1));
}

Mailbox::~Mailbox() {
  for (PtlrtMpiQueue *queue : queues)
    processes.mpi().freeQueue(queue);
}

uint8_t *Mailbox::bufferOf(int64_t slot) {
  if (slot >= static_cast<int64_t>(buffers.size()))
    buffers.resize(slot + 1);
  if (!buffers[slot])
    buffers[slot] = std::make_unique<uint8_t[]>(port.bytes());
  return buffers[slot].get();
}

/// Visits the contiguous parts: `visit(place in the arena, place in the buffer, bytes)`.
template <typename Visitor>
void Mailbox::walk(int64_t slot, uint8_t *buffer, Visitor &&visit) const {
  for (const MessageSegment &segment : port.segments) {
    int64_t size = elementSize(segment.element);
    forEachPart(segment.layout, size, 0, segment.elements(), [&](int64_t offset, int64_t count) {
      visit(arena + offset + slot * segment.slotStride, buffer, count * size);
      buffer += count * size;
    });
  }
}

Status Mailbox::post(int64_t slot) {
  int64_t bytes = port.bytes(), number = next++ % port.times;
  if (bytes > INT_MAX)
    return failure("a message of {} bytes is too long for MPI", bytes);
  uint8_t *buffer = bufferOf(slot);
  slots[number] = slot;
  const PtlrtMpiApi &mpi = processes.mpi();
  if (!port.sends)
    return processes.check(
        mpi.receive(queues[number], kAll, buffer, static_cast<int>(bytes), port.peer, port.label));
  walk(slot, buffer,
       [](const uint8_t *place, uint8_t *to, int64_t count) { std::memcpy(to, place, count); });
  return processes.check(
      mpi.send(queues[number], kAll, buffer, static_cast<int>(bytes), port.peer, port.label));
}

Status Mailbox::finish(int64_t number) {
  PTLRT_TRY(
      processes.finish(queues[number], port.sends ? "a message to another stage" : "a message"));
  if (!port.sends)
    walk(slots[number], bufferOf(slots[number]),
         [](uint8_t *place, const uint8_t *from, int64_t count) {
           std::memcpy(place, from, count);
         });
  return Status::ok();
}

} // namespace ptlrt
