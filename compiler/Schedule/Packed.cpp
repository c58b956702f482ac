//===- Packed.cpp - Tables as the bytes that a program carries ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/Packed.h"

#include <bit>
#include <cstring>

namespace ptlc::schedule {

static_assert(std::endian::native == std::endian::little);
static_assert(sizeof(ptlrt_schedule_header) == 32 && sizeof(ptlrt_schedule_edge) == 16 &&
              sizeof(ptlrt_schedule_rank) == 24 && sizeof(ptlrt_schedule_instruction) == 20 &&
              sizeof(ptlrt_schedule_operand) == 8);

namespace {
/// Writes numbers of a given width, and remembers one that doesn't fit.
class Narrow {
public:
  explicit Narrow(std::string &error) : error(error) {}

  template <typename T> T to(int64_t value, int64_t most, const char *what) {
    if (value < 0 || value > most) {
      error = "a packed schedule holds at most " + std::to_string(most) + " " + what + ", not " +
              std::to_string(value);
      failed = true;
    }
    return static_cast<T>(value);
  }
  bool failed = false;

private:
  std::string &error;
};
} // namespace

template <typename T> static void append(std::string &bytes, const T &value) {
  bytes.append(reinterpret_cast<const char *>(&value), sizeof(T));
}

static ptlrt_schedule_header headerOf(const Table &table, Narrow &narrow) {
  int64_t instructions = 0, operands = 0;
  for (const RankTable &rank : table.tables)
    for (const Instruction &instruction : rank.instructions) {
      ++instructions;
      operands += static_cast<int64_t>(instruction.operands.size());
    }
  ptlrt_schedule_header header{};
  std::memcpy(header.magic, PTLRT_SCHEDULE_MAGIC, 4);
  header.version = PTLRT_SCHEDULE_VERSION;
  header.ranks = narrow.to<uint16_t>(table.ranks, PTLRT_SCHEDULE_TIED - 1, "ranks");
  header.chunks = narrow.to<uint16_t>(table.chunks, UINT16_MAX - 1, "chunks");
  header.edges =
      narrow.to<uint16_t>(static_cast<int64_t>(table.edges.size()), UINT16_MAX - 1, "edges");
  header.micros = narrow.to<uint32_t>(table.micros, INT32_MAX, "micro-batches");
  header.stages = narrow.to<uint32_t>(table.stages(), UINT16_MAX - 1, "stages");
  header.instructions = narrow.to<uint32_t>(instructions, UINT32_MAX, "instructions");
  header.operands = narrow.to<uint32_t>(operands, UINT32_MAX, "operands");
  uint32_t copies = narrow.to<uint16_t>(table.copies - 1, UINT16_MAX, "further copies");
  header.flags = (table.clip ? PTLRT_SCHEDULE_CLIP : 0u) | static_cast<uint32_t>(table.zero) << 1 |
                 copies << 16;
  return header;
}

static void packPlacement(const Table &table, std::string &bytes) {
  for (int stage = 0; stage < table.stages(); ++stage) {
    auto entry = static_cast<uint16_t>(table.place[stage]);
    for (int tied : table.tied)
      if (tied == stage)
        entry |= PTLRT_SCHEDULE_TIED;
    append(bytes, entry);
  }
  bytes.resize((bytes.size() + 7) / 8 * 8);
}

static void packInstruction(const Instruction &instruction, uint32_t &operands, std::string &bytes,
                            Narrow &narrow) {
  ptlrt_schedule_instruction packed{};
  packed.op = static_cast<uint8_t>(instruction.op);
  packed.flags =
      static_cast<uint8_t>(instruction.group) | (instruction.init ? PTLRT_SCHEDULE_INIT : 0);
  packed.stage = static_cast<uint16_t>(instruction.stage);
  packed.micro = static_cast<uint32_t>(instruction.micro);
  packed.peer = static_cast<uint16_t>(instruction.peer);
  packed.edge = static_cast<uint16_t>(instruction.edge);
  packed.batch = narrow.to<uint16_t>(instruction.batch, UINT16_MAX, "groups of messages");
  packed.operand_count = static_cast<uint16_t>(instruction.operands.size());
  packed.first_operand = operands;
  operands += packed.operand_count;
  append(bytes, packed);
}

static void packOperand(const Operand &operand, std::string &bytes, Narrow &narrow) {
  ptlrt_schedule_operand packed{};
  packed.kind = static_cast<uint8_t>(operand.kind);
  packed.flags =
      (operand.takes ? PTLRT_SCHEDULE_TAKES : 0u) | (operand.frees ? PTLRT_SCHEDULE_FREES : 0u);
  packed.stage = static_cast<uint16_t>(operand.stage);
  packed.slot = narrow.to<uint16_t>(operand.slot, UINT16_MAX, "slots of a kind");
  append(bytes, packed);
}

std::optional<std::string> pack(const Table &table, std::string &error) {
  Narrow narrow(error);
  std::string bytes, instructions, operands;
  append(bytes, headerOf(table, narrow));
  packPlacement(table, bytes);
  for (const Edge &edge : table.edges)
    append(bytes,
           ptlrt_schedule_edge{static_cast<uint16_t>(edge.source),
                               static_cast<uint16_t>(edge.target), edge.gradient, edge.bytes});
  uint32_t first = 0, firstOperand = 0;
  for (const RankTable &rank : table.tables) {
    ptlrt_schedule_rank packed{};
    packed.first = first;
    packed.count = static_cast<uint32_t>(rank.instructions.size());
    first += packed.count;
    for (unsigned kind = 0; kind < kSlotKinds; ++kind)
      packed.slots[kind] = narrow.to<uint16_t>(rank.slots[kind], UINT16_MAX, "slots of a kind");
    append(bytes, packed);
    for (const Instruction &instruction : rank.instructions) {
      packInstruction(instruction, firstOperand, instructions, narrow);
      for (const Operand &operand : instruction.operands)
        packOperand(operand, operands, narrow);
    }
  }
  if (narrow.failed)
    return std::nullopt;
  return bytes + instructions + operands;
}

/// The size that `header` announces.
static uint64_t sizeOf(const ptlrt_schedule_header &header) {
  return sizeof(header) + (uint64_t{header.stages} + 3) / 4 * 8 +
         uint64_t{header.edges} * sizeof(ptlrt_schedule_edge) +
         uint64_t{header.ranks} * sizeof(ptlrt_schedule_rank) +
         uint64_t{header.instructions} * sizeof(ptlrt_schedule_instruction) +
         uint64_t{header.operands} * sizeof(ptlrt_schedule_operand);
}

static int signedOf(uint16_t value) {
  return value == PTLRT_SCHEDULE_NONE16 ? -1 : static_cast<int>(value);
}

static std::optional<Instruction> unpackInstruction(const ptlrt_schedule_header *header,
                                                    const ptlrt_schedule_instruction &packed) {
  if (packed.op == 0 || packed.op >= kOps ||
      uint64_t{packed.first_operand} + packed.operand_count > header->operands)
    return std::nullopt;
  Instruction instruction{static_cast<Op>(packed.op), signedOf(packed.stage),
                          static_cast<int>(packed.micro), signedOf(packed.peer),
                          signedOf(packed.edge)};
  instruction.batch = packed.batch;
  instruction.group = static_cast<Group>(packed.flags & PTLRT_SCHEDULE_GROUP_MASK);
  instruction.init = packed.flags & PTLRT_SCHEDULE_INIT;
  const ptlrt_schedule_operand *operands = ptlrt_schedule_operands(header) + packed.first_operand;
  for (unsigned i = 0; i < packed.operand_count; ++i) {
    const ptlrt_schedule_operand &operand = operands[i];
    if (operand.kind >= kSlotKinds)
      return std::nullopt;
    instruction.operands.push_back({static_cast<SlotKind>(operand.kind), operand.stage,
                                    operand.slot, (operand.flags & PTLRT_SCHEDULE_TAKES) != 0,
                                    (operand.flags & PTLRT_SCHEDULE_FREES) != 0});
  }
  return instruction;
}

static bool unpackRanks(const ptlrt_schedule_header *header, Table &table) {
  for (int rank = 0; rank < header->ranks; ++rank) {
    const ptlrt_schedule_rank &packed = ptlrt_schedule_ranks(header)[rank];
    if (uint64_t{packed.first} + packed.count > header->instructions)
      return false;
    RankTable &own = table.tables.emplace_back();
    for (unsigned kind = 0; kind < kSlotKinds; ++kind)
      own.slots[kind] = packed.slots[kind];
    for (uint32_t i = packed.first; i < packed.first + packed.count; ++i) {
      std::optional<Instruction> instruction =
          unpackInstruction(header, ptlrt_schedule_instructions(header)[i]);
      if (!instruction)
        return false;
      own.instructions.push_back(std::move(*instruction));
    }
  }
  return true;
}

std::optional<Table> unpack(std::string_view bytes, std::string &error) {
  std::vector<uint64_t> aligned((bytes.size() + 7) / 8);
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  auto *header = reinterpret_cast<const ptlrt_schedule_header *>(aligned.data());
  if (bytes.size() < sizeof(*header) || std::memcmp(header->magic, PTLRT_SCHEDULE_MAGIC, 4) != 0 ||
      header->version != PTLRT_SCHEDULE_VERSION || bytes.size() != sizeOf(*header)) {
    error =
        "these bytes are no packed schedule of version " + std::to_string(PTLRT_SCHEDULE_VERSION);
    return std::nullopt;
  }
  Table table;
  table.ranks = header->ranks;
  table.chunks = header->chunks;
  table.micros = static_cast<int>(header->micros);
  table.clip = header->flags & PTLRT_SCHEDULE_CLIP;
  table.zero = static_cast<int>(header->flags >> 1 & 3u);
  table.copies = static_cast<int>(header->flags >> 16) + 1;
  for (uint32_t stage = 0; stage < header->stages; ++stage) {
    unsigned entry = ptlrt_schedule_placement(header)[stage];
    table.place.push_back(static_cast<int>(entry & (PTLRT_SCHEDULE_TIED - 1)));
    if (entry & PTLRT_SCHEDULE_TIED)
      table.tied.push_back(static_cast<int>(stage));
  }
  for (unsigned k = 0; k < header->edges; ++k) {
    const ptlrt_schedule_edge &edge = ptlrt_schedule_edges(header)[k];
    table.edges.push_back({edge.source, edge.target, edge.gradient != 0, edge.bytes});
  }
  if (!unpackRanks(header, table)) {
    error = "a number of the packed schedule leads out of it";
    return std::nullopt;
  }
  return table;
}

} // namespace ptlc::schedule
