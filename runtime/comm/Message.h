//===- Message.h - What goes from one rank to another ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Messages from one rank to another arrive in the order in which they are sent,
// whatever port they go through; both sides know that order.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_COMM_MESSAGE_H
#define PTLRT_COMM_MESSAGE_H

#include "runtime/core/Tensor.h"

namespace ptlrt {

/// A tensor of each slot.
struct MessageSegment {
  Layout layout; ///< in slot 0
  Element element = Element::F32;
  int64_t slotStride = 0; ///< bytes from slot to slot

  int64_t elements() const { return layout.rows * layout.cols; }
  int64_t bytes() const { return elements() * elementSize(element); }
};

/// One end of a way that messages of one kind take.
struct Port {
  int peer = 0; ///< rank at the other end
  bool sends = false;
  int label = 0;     ///< the same at both ends
  int64_t times = 1; ///< messages of a step
  std::vector<MessageSegment> segments;
  int ledger = -1; ///< receiving: the entry in the list of collectives

  int64_t bytes() const {
    int64_t sum = 0;
    for (const MessageSegment &segment : segments)
      sum += segment.bytes();
    return sum;
  }
};

} // namespace ptlrt

#endif // PTLRT_COMM_MESSAGE_H
