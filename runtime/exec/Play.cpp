//===- Play.cpp - What a rank does in a step ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/exec/Play.h"

#include "ptlrt/schedule.h"
#include <algorithm>
#include <cstring>
#include <map>

namespace ptlrt {

/// Labels of messages: two for each edge, then exchanges.
static int labelOf(int edge, bool isGradient) { return 2 * edge + isGradient; }

static bool isSend(uint8_t op) {
  return op == PTLRT_SCHEDULE_SEND_A || op == PTLRT_SCHEDULE_SEND_G;
}
static bool isGradient(uint8_t op) {
  return op == PTLRT_SCHEDULE_SEND_G || op == PTLRT_SCHEDULE_RECV_G;
}

class PlayReader {
public:
  PlayReader(const ptlrt_program_t &code, const ProgramSet &set, int rank)
      : whole(code), part(code.part_count ? code.parts[set.partOf(rank)] : code),
        info(set.of(rank)), mesh(set.whole().mesh), rank(rank) {}
  Expected<Play> read();

private:
  using Instruction = ptlrt_schedule_instruction;
  Status readTable();
  Status openPorts();
  int peerRank(int coordinate) const;
  int addPort(Port port) {
    play.portList.push_back(std::move(port));
    return static_cast<int>(play.portList.size()) - 1;
  }
  int portOf(const Instruction &instruction) const;
  Status addInstruction(const Instruction &instruction, const ptlrt_schedule_operand *operands);
  Status addMessage(const Instruction &instruction, const ptlrt_schedule_operand *operands);
  Status addCall(const Instruction &instruction, const ptlrt_schedule_operand *operands);
  void wait(std::vector<MessageWait> &pending);
  void addFunctions(uint32_t op);
  ptlrt_stage_fn functionOf(uint32_t op, int stage) const;
  int poolOf(const ptlrt_schedule_operand &operand) const;

  const ptlrt_program_t &whole, &part;
  const ProgramInfo &info;
  const Mesh &mesh;
  int rank;
  Play play;
  const ptlrt_schedule_header *header = nullptr;
  std::vector<int64_t> posted; ///< messages so far, by port
  std::map<std::pair<int, uint32_t>, std::vector<MessageWait>> arriving[2]; ///< by stage and micro
  std::map<std::pair<int, int>, std::vector<MessageWait>> leaving;          ///< by kind and slot
  std::map<uint32_t, int> left; ///< instructions to come, by ptlrt_op
};

/// ptlrt_op of a table's instruction.
static uint32_t opOf(uint8_t op) {
  switch (op) {
  case PTLRT_SCHEDULE_F:
    return PTLRT_OP_F;
  case PTLRT_SCHEDULE_B:
    return PTLRT_OP_B;
  case PTLRT_SCHEDULE_W:
    return PTLRT_OP_W;
  case PTLRT_SCHEDULE_BW:
    return PTLRT_OP_BW;
  case PTLRT_SCHEDULE_LOSS:
    return PTLRT_OP_LOSS;
  case PTLRT_SCHEDULE_REDUCE:
    return PTLRT_OP_REDUCE;
  case PTLRT_SCHEDULE_TIE:
    return PTLRT_OP_TIE;
  case PTLRT_SCHEDULE_NORM:
    return PTLRT_OP_NORM;
  case PTLRT_SCHEDULE_OPT:
    return PTLRT_OP_OPT;
  default:
    return kMessage;
  }
}

static bool isPhase(uint32_t op) { return op >= PTLRT_OP_F && op <= PTLRT_OP_LOSS; }

int PlayReader::peerRank(int coordinate) const {
  for (int other : mesh.group(rank, std::span(&info.pipeline->axis, 1)))
    if (mesh.coordinate(other, info.pipeline->axis) == coordinate)
      return other;
  return rank;
}

/// The ledger has an entry for each port that receives, in the order of the ports.
static int ledgerOf(const ProgramInfo &info, int messages) {
  int number = 0;
  for (const Collective &collective : info.collectives)
    if (collective.kind == CollectiveKind::Message && messages-- == 0)
      return number;
    else
      ++number;
  return -1;
}

Status PlayReader::openPorts() {
  const ptlrt_schedule_edge *edges = ptlrt_schedule_edges(header);
  const uint16_t *placement = ptlrt_schedule_placement(header);
  int received = 0;
  for (const MessageInfo &message : info.pipeline->messages) {
    if (message.edge < 0 || message.edge >= header->edges)
      return failure("a message goes over edge {} of {}", message.edge, header->edges);
    const ptlrt_schedule_edge &edge = edges[message.edge];
    bool sends = isSend(message.op), gradient = isGradient(message.op);
    int stage = sends == gradient ? edge.source : edge.target;
    addPort({peerRank(placement[stage] & ~PTLRT_SCHEDULE_TIED), sends,
             labelOf(message.edge, gradient), static_cast<int64_t>(header->micros),
             message.segments, sends ? -1 : ledgerOf(info, received++)});
  }
  int label = labelOf(header->edges, false);
  for (const ExchangeInfo &exchange : info.pipeline->exchanges) {
    int peer = peerRank(exchange.peer);
    ExchangePorts ports;
    if (!exchange.sent.empty())
      ports.send = addPort({peer, true, label, 1, exchange.sent, -1});
    if (!exchange.received.empty())
      ports.receive =
          addPort({peer, false, label, 1, exchange.received, ledgerOf(info, received++)});
    play.exchanges.push_back(ports);
  }
  posted.resize(play.portList.size());
  return Status::ok();
}

int PlayReader::portOf(const Instruction &instruction) const {
  int label = labelOf(instruction.edge, isGradient(instruction.op));
  for (size_t port = 0; port < play.portList.size(); ++port)
    if (play.portList[port].label == label && play.portList[port].sends == isSend(instruction.op))
      return static_cast<int>(port);
  return -1;
}

int PlayReader::poolOf(const ptlrt_schedule_operand &operand) const {
  const uint16_t *placement = ptlrt_schedule_placement(header);
  int own = placement[operand.stage] & ~PTLRT_SCHEDULE_TIED, chunk = 0;
  for (int stage = 0; stage < operand.stage; ++stage)
    chunk += (placement[stage] & ~PTLRT_SCHEDULE_TIED) == own;
  return operand.kind * PTLRT_MAX_CHUNKS + chunk;
}

ptlrt_stage_fn PlayReader::functionOf(uint32_t op, int stage) const {
  for (uint64_t row = 0; row < part.table_size; ++row)
    if (part.table[row].op == op && (!isPhase(op) || part.table[row].stage == stage))
      return part.functions[part.table[row].function];
  return nullptr;
}

void PlayReader::wait(std::vector<MessageWait> &pending) {
  Move &move = play.list.back();
  play.waits.insert(play.waits.end(), pending.begin(), pending.end());
  move.waits += static_cast<uint32_t>(pending.size());
  pending.clear();
}

Status PlayReader::addMessage(const Instruction &instruction,
                              const ptlrt_schedule_operand *operands) {
  int port = portOf(instruction);
  if (port < 0 || instruction.operand_count != 1)
    return failure("the schedule has a message over edge {} that the program hasn't",
                   instruction.edge);
  for (const MessageSegment &segment : play.portList[port].segments)
    if (segment.layout.offset + operands[0].slot * segment.slotStride + segment.bytes() >
        info.arenaBytes)
      return failure("slot {} of edge {} lies outside of the arena", operands[0].slot,
                     instruction.edge);
  Move move;
  move.op = kMessage;
  move.port = port;
  move.slot = operands[0].slot;
  move.micro = instruction.micro;
  move.stage = instruction.stage;
  play.list.push_back(move);
  MessageWait message{port, posted[port]++};
  if (isSend(instruction.op))
    leaving[{operands[0].kind, operands[0].slot}].push_back(message);
  else
    arriving[isGradient(instruction.op)][{instruction.stage, instruction.micro}].push_back(message);
  return Status::ok();
}

Status PlayReader::addCall(const Instruction &instruction, const ptlrt_schedule_operand *operands) {
  uint32_t op = opOf(instruction.op);
  Move move;
  move.op = op;
  // None: nothing to compute, such as gradients of the weights of a stage without any.
  move.function = functionOf(op, instruction.stage);
  move.micro = instruction.micro;
  move.stage = instruction.stage;
  move.firstWait = static_cast<uint32_t>(play.waits.size());
  move.firstSlot = static_cast<uint32_t>(play.slots.size());
  move.slots = instruction.operand_count;
  play.list.push_back(move);
  for (int i = 0; i < instruction.operand_count; ++i) {
    play.slots.push_back({poolOf(operands[i]), operands[i].slot});
    if (operands[i].flags & PTLRT_SCHEDULE_TAKES)
      wait(leaving[{operands[i].kind, operands[i].slot}]);
  }
  bool backward = op == PTLRT_OP_B || op == PTLRT_OP_BW;
  if (op == PTLRT_OP_F || backward)
    wait(arriving[backward][{instruction.stage, instruction.micro}]);
  return Status::ok();
}

/// Calls the functions of a kind that isn't a phase.
void PlayReader::addFunctions(uint32_t op) {
  for (uint64_t row = 0; row < part.table_size; ++row) {
    if (part.table[row].op != op)
      continue;
    Move move;
    move.op = op;
    move.function = part.functions[part.table[row].function];
    move.micro = part.table[row].micro;
    move.firstWait = static_cast<uint32_t>(play.waits.size());
    play.list.push_back(move);
  }
}

/// What belongs to all of a rank's stages is done at the last of its instructions; a rank without
/// one for what it has to do does it before the norm.
Status PlayReader::addInstruction(const Instruction &instruction,
                                  const ptlrt_schedule_operand *operands) {
  uint32_t op = opOf(instruction.op);
  if (op == kMessage)
    return addMessage(instruction, operands);
  if (isPhase(op))
    return addCall(instruction, operands);
  if (--left[op] > 0)
    return Status::ok();
  for (uint32_t before : {PTLRT_OP_TIE, PTLRT_OP_REDUCE})
    if (before != op && (before == PTLRT_OP_TIE || op != PTLRT_OP_TIE) &&
        left.try_emplace(before, 0).second)
      addFunctions(before);
  addFunctions(op);
  if (op == PTLRT_OP_NORM)
    for (auto &[slot, messages] : leaving)
      wait(messages);
  return Status::ok();
}

Status PlayReader::readTable() {
  header = static_cast<const ptlrt_schedule_header *>(whole.schedule);
  if (whole.schedule_size < sizeof *header ||
      std::memcmp(header->magic, PTLRT_SCHEDULE_MAGIC, 4) != 0 ||
      header->version != PTLRT_SCHEDULE_VERSION || !info.pipeline ||
      header->ranks != whole.part_count)
    return failure("the schedule isn't one of this runtime");
  PTLRT_TRY(openPorts());
  const ptlrt_schedule_rank &own =
      ptlrt_schedule_ranks(header)[mesh.coordinate(rank, info.pipeline->axis)];
  const Instruction *instructions = ptlrt_schedule_instructions(header) + own.first;
  for (uint32_t i = 0; i < own.count; ++i)
    if (uint32_t op = opOf(instructions[i].op); op != kMessage && !isPhase(op))
      ++left[op];
  addFunctions(PTLRT_OP_COUNT);
  for (uint32_t i = 0; i < own.count; ++i)
    PTLRT_TRY(addInstruction(instructions[i],
                             ptlrt_schedule_operands(header) + instructions[i].first_operand));
  return Status::ok();
}

Expected<Play> PlayReader::read() {
  if (whole.part_count > 0) {
    PTLRT_TRY(readTable());
    return std::move(play);
  }
  for (uint64_t row = 0; row < part.table_size; ++row) {
    Move move;
    move.op = part.table[row].op;
    move.function = part.functions[part.table[row].function];
    move.micro = part.table[row].micro;
    play.list.push_back(move);
  }
  return std::move(play);
}

Expected<Play> Play::read(const ptlrt_program_t &code, const ProgramSet &set, int rank) {
  return PlayReader(code, set, rank).read();
}

std::string Play::nameOf(size_t number) const {
  static constexpr const char *kOps[] = {"count", "fb", "reduce", "norm", "opt",  "eval", "sample",
                                         "F",     "B",  "W",      "BW",   "LOSS", "tie"};
  const Move &move = list[number];
  if (move.op == kMessage)
    return fmt::format("{} s{} m{}", portList[move.port].sends ? "send" : "receive", move.stage,
                       move.micro);
  if (isPhase(move.op))
    return fmt::format("{} s{} m{}", kOps[move.op], move.stage, move.micro);
  return fmt::format("{} {}", move.op < std::size(kOps) ? kOps[move.op] : "?", move.micro);
}

} // namespace ptlrt
