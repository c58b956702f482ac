//===- Mailbox.h - One end of messages between two processes --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Messages are contiguous: what has padding in the arena is packed, into memory
// that each slot gets when it is first used.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_COMM_MPI_MAILBOX_H
#define PTLRT_COMM_MPI_MAILBOX_H

#include "runtime/comm/Message.h"
#include "runtime/comm/mpi/Processes.h"

namespace ptlrt {

class Mailbox {
public:
  Mailbox(Processes &processes, const Port &port, uint8_t *arena);
  ~Mailbox();
  Mailbox(const Mailbox &) = delete;
  Mailbox &operator=(const Mailbox &) = delete;

  /// Begins the next message.
  Status post(int64_t slot);
  /// Waits for message `number` of the step.
  Status finish(int64_t number);

private:
  uint8_t *bufferOf(int64_t slot);
  template <typename Visitor> void walk(int64_t slot, uint8_t *buffer, Visitor &&visit) const;

  Processes &processes;
  const Port &port;
  uint8_t *arena;
  std::vector<std::unique_ptr<uint8_t[]>> buffers; ///< by slot
  std::vector<PtlrtMpiQueue *> queues;             ///< of the messages of a step
  std::vector<int64_t> slots;                      ///< that they use
  int64_t next = 0;
};

} // namespace ptlrt

#endif // PTLRT_COMM_MPI_MAILBOX_H
