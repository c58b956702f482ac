//===- Table.h - What every rank of a pipeline does in a step -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Schedules are data: one list of instructions per rank, verified and executed as one object. See
// compiler/doc/Schedules.md for what the instructions mean and why a verified table can't hang.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_SCHEDULE_TABLE_H
#define PTLC_COMPILER_SCHEDULE_TABLE_H

#include "runtime/include/ptlrt/schedule.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ptlc::schedule {

/// Values are those of the packed form.
enum class Op : uint8_t {
  F = PTLRT_SCHEDULE_F,
  B = PTLRT_SCHEDULE_B,
  W = PTLRT_SCHEDULE_W,
  BW = PTLRT_SCHEDULE_BW,
  Loss = PTLRT_SCHEDULE_LOSS,
  SendA = PTLRT_SCHEDULE_SEND_A,
  RecvA = PTLRT_SCHEDULE_RECV_A,
  SendG = PTLRT_SCHEDULE_SEND_G,
  RecvG = PTLRT_SCHEDULE_RECV_G,
  Gather = PTLRT_SCHEDULE_GATHER,
  Free = PTLRT_SCHEDULE_FREE,
  Reduce = PTLRT_SCHEDULE_REDUCE,
  Tie = PTLRT_SCHEDULE_TIE,
  Norm = PTLRT_SCHEDULE_NORM,
  Opt = PTLRT_SCHEDULE_OPT
};
inline constexpr unsigned kOps = PTLRT_SCHEDULE_OPT + 1;

inline bool isSend(Op op) { return op == Op::SendA || op == Op::SendG; }
inline bool isReceive(Op op) { return op == Op::RecvA || op == Op::RecvG; }
inline bool isMessage(Op op) { return isSend(op) || isReceive(op); }
inline bool isCompute(Op op) { return op >= Op::F && op <= Op::Loss; }
inline bool isBackward(Op op) { return op == Op::B || op == Op::BW; }
inline bool isWeightGradient(Op op) { return op == Op::W || op == Op::BW; }
inline bool isCollective(Op op) {
  return op == Op::Gather || op == Op::Reduce || op == Op::Tie || op == Op::Norm;
}

enum class SlotKind : uint8_t {
  X = PTLRT_SCHEDULE_X,
  S = PTLRT_SCHEDULE_S,
  Y = PTLRT_SCHEDULE_Y,
  G = PTLRT_SCHEDULE_G,
  D = PTLRT_SCHEDULE_D,
  C = PTLRT_SCHEDULE_C
};
inline constexpr unsigned kSlotKinds = PTLRT_SCHEDULE_KINDS;

enum class Group : uint8_t {
  None = PTLRT_SCHEDULE_GROUP_NONE,
  Dp = PTLRT_SCHEDULE_GROUP_DP,
  Tie = PTLRT_SCHEDULE_GROUP_TIE,
  All = PTLRT_SCHEDULE_GROUP_ALL,
  Unknown ///< read from a file; never verified, never packed
};

/// A slot that an instruction reads or writes, for the instruction's micro-batch.
struct Operand {
  SlotKind kind = SlotKind::X;
  int stage = 0;
  int slot = 0;
  bool takes = false; ///< the slot was free before
  bool frees = false; ///< the slot is free when the instruction has completed

  bool operator==(const Operand &) const = default;
};

struct Instruction {
  Op op = Op::F;
  int stage = -1; ///< a stage of this rank
  int micro = -1;
  int peer = -1; ///< rank of the other side of a message
  int edge = -1; ///< of a message
  int batch = 0; ///< neighbouring messages of one number that isn't 0 are posted together
  Group group = Group::None;
  bool init = false; ///< this sum of weight gradients is the first: it overwrites
  std::vector<Operand> operands = {};

  bool operator==(const Instruction &) const = default;
};

/// Values that go from one stage to another, at once.
struct Edge {
  int source = 0, target = 0;
  bool gradient = true; ///< a gradient comes back
  uint64_t bytes = 1;   ///< of one micro-batch

  bool operator==(const Edge &) const = default;
};

struct RankTable {
  std::vector<Instruction> instructions;
  std::array<int, kSlotKinds> slots{}; ///< how many there are of each kind

  bool operator==(const RankTable &) const = default;
};

struct Table {
  std::string name;
  int ranks = 1;          ///< of one pipeline
  int chunks = 1;         ///< stages per rank
  int micros = 1;         ///< micro-batches of a step
  std::vector<int> place; ///< rank of each stage
  std::vector<Edge> edges;
  /// One per rank, or one per rank of each copy: copy * ranks + rank. Copies that run the same
  /// table needn't be written out.
  std::vector<RankTable> tables;
  std::vector<int> tied; ///< stages that use a weight that other stages use, too; ascending
  bool clip = false;     ///< the update waits for the global norm
  int copies = 1;        ///< data-parallel copies of the pipeline
  int zero = 0;          ///< 3: the table gathers and frees the weights of whole stages

  int stages() const { return static_cast<int>(place.size()); }
  /// Whether tied weights lie on more than one rank, so that their gradients need a message.
  bool tiedAcrossRanks() const;

  bool operator==(const Table &) const = default;
};

std::string_view name(Op op);
char name(SlotKind kind);
std::string_view name(Group group);
/// `BW s2 m0`, `SEND_A s1 m0 peer2`, `REDUCE s1 dp`.
std::string text(const Instruction &instruction);
/// `+S2:0-`: takes, kind, stage, slot, frees.
std::string text(const Operand &operand);

/// Edges from each stage to the next, of `bytes` each.
std::vector<Edge> chain(int stages, uint64_t bytes = 1);
/// Rank of each stage: 0 1 .. p-1 0 1 .. .
std::vector<int> roundRobin(int ranks, int chunks);
/// Rank of each stage: 0 1 .. p-1 p-1 .. 1 0 0 1 .. .
std::vector<int> snake(int ranks, int chunks);

/// End of the unit that begins at `begin`: a group of messages, or one instruction.
size_t unitEnd(const std::vector<Instruction> &instructions, size_t begin);

} // namespace ptlc::schedule

#endif // PTLC_COMPILER_SCHEDULE_TABLE_H
