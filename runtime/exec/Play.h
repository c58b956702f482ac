//===- Play.h - What a rank does in a step --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The table of a program, resolved once: functions, slots and ports by number, and
// what each instruction waits for. A message is waited for by the phase that reads
// it, or by the next one that writes what it sends; nothing else waits.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_EXEC_PLAY_H
#define PTLRT_EXEC_PLAY_H

#include "runtime/exec/ProgramInfo.h"

namespace ptlrt {

/// One thing to do.
struct Move {
  uint32_t op = 0;                   ///< ptlrt_op, or kMessage
  ptlrt_stage_fn function = nullptr; ///< null: nothing to call
  int64_t micro = 0;
  int port = -1; ///< of a message
  int64_t slot = 0;
  uint32_t firstWait = 0, waits = 0; ///< in Play::waits
  uint32_t firstSlot = 0, slots = 0; ///< in Play::slots
  int stage = 0;
};
inline constexpr uint32_t kMessage = UINT32_MAX;

/// Message `number` of the step through `port`.
struct MessageWait {
  int port;
  int64_t number;
};
/// Which slot of a pool an instruction uses.
struct SlotUse {
  int pool;
  int64_t slot;
};
/// Ports of an exchange; -1 where nothing is sent or received.
struct ExchangePorts {
  int send = -1, receive = -1;
};

class Play {
public:
  /// Reads the table of `code`, which `set` describes, for `rank`.
  static Expected<Play> read(const ptlrt_program_t &code, const ProgramSet &set, int rank);

  std::span<const Move> moves() const { return list; }
  std::span<const MessageWait> waitsOf(const Move &move) const {
    return std::span(waits).subspan(move.firstWait, move.waits);
  }
  std::span<const SlotUse> slotsOf(const Move &move) const {
    return std::span(slots).subspan(move.firstSlot, move.slots);
  }
  std::span<const Port> ports() const { return portList; }
  const ExchangePorts &exchange(int index) const { return exchanges[index]; }
  /// "F s1 m0", for traces.
  std::string nameOf(size_t move) const;

private:
  friend class PlayReader;

  std::vector<Move> list;
  std::vector<MessageWait> waits;
  std::vector<SlotUse> slots;
  std::vector<Port> portList;
  std::vector<ExchangePorts> exchanges;
};

} // namespace ptlrt

#endif // PTLRT_EXEC_PLAY_H
