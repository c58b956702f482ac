//===- Channel.h - Messages between two threads ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One per directed pair of ranks. Whichever side comes second copies, straight from
// one arena to the other, so posting never waits and no byte is copied twice.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_COMM_LOCAL_CHANNEL_H
#define PTLRT_COMM_LOCAL_CHANNEL_H

#include "runtime/comm/Message.h"
#include "runtime/comm/local/Barrier.h"
#include <mutex>

namespace ptlrt {

/// One end of a message.
struct MessageEnd {
  const Port *port = nullptr;
  uint8_t *arena = nullptr;
  int64_t slot = 0;
};

class Channel {
public:
  /// For `perStep` messages a step; those of a step are finished before the next one begins.
  Channel(int64_t perStep, const WaitPolicy &policy, const std::atomic<bool> &aborted)
      : entries(perStep), policy(policy), aborted(aborted) {}

  /// Posts one end of the next message; returns its number. Fails if the other end has another
  /// label or size.
  Expected<int64_t> post(const MessageEnd &end);
  WaitResult wait(int64_t number);

private:
  struct Entry {
    MessageEnd source, target;
    std::atomic<uint32_t> finished{0}; ///< rounds of the ring
  };
  static Status copy(const Entry &entry);

  std::vector<Entry> entries;
  const WaitPolicy policy;
  const std::atomic<bool> &aborted;
  std::mutex lock;
  int64_t sent = 0, received = 0;
};

} // namespace ptlrt

#endif // PTLRT_COMM_LOCAL_CHANNEL_H
