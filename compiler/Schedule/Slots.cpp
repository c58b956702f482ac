//===- Slots.cpp - Which slot each value of a table lies in ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One pass over a rank's list. A slot is taken by the first instruction that touches it for a stage
// and micro-batch, and freed by the last. What is being sent has two slots in turn: with one, the
// next computation would wait for the last transfer. In a group of messages all slots are taken
// before any is freed, since they are under way together.
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/Lower.h"
#include "compiler/Schedule/Roles.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace ptlc::schedule {

static constexpr int kSendSlots = 2;

namespace {
class Assigner {
public:
  Assigner(Table &table, size_t rank) : own(table.tables[rank]), roles(table) {
    own.slots.fill(0);
    for (size_t i = 0; i < own.instructions.size(); ++i)
      for (const Role &role : rolesOf(i))
        lastUse[keyOf(role, i)] = i;
  }

  void run() {
    std::vector<Instruction> &list = own.instructions;
    for (size_t begin = 0; begin < list.size();) {
      size_t end = unitEnd(list, begin);
      std::vector<Operand> freed;
      for (size_t i = begin; i < end; ++i)
        assign(i, freed);
      for (const Operand &operand : freed)
        free(operand);
      begin = end;
    }
  }

private:
  using Key = std::tuple<SlotKind, int, int>; // kind, stage, micro-batch

  const std::vector<Role> &rolesOf(size_t i) const {
    static const std::vector<Role> none;
    const Instruction &instruction = own.instructions[i];
    return instruction.stage < 0 ? none : roles.of(instruction.op, instruction.stage);
  }
  Key keyOf(const Role &role, size_t i) const {
    return {role.kind, role.stage, own.instructions[i].micro};
  }
  static bool isSent(SlotKind kind) { return kind == SlotKind::Y || kind == SlotKind::D; }

  int take(SlotKind kind) {
    std::vector<int> &list = freeSlots[static_cast<size_t>(kind)];
    int &count = own.slots[static_cast<size_t>(kind)];
    if (list.empty() || (isSent(kind) && count < kSendSlots))
      return count++;
    int slot = list.front();
    list.erase(list.begin());
    return slot;
  }

  /// Slots that are sent wait in the order in which they became free, others by number.
  void free(const Operand &operand) {
    std::vector<int> &list = freeSlots[static_cast<size_t>(operand.kind)];
    list.insert(isSent(operand.kind) ? list.end()
                                     : std::lower_bound(list.begin(), list.end(), operand.slot),
                operand.slot);
  }

  void assign(size_t i, std::vector<Operand> &freed) {
    Instruction &instruction = own.instructions[i];
    instruction.operands.clear();
    for (const Role &role : rolesOf(i)) {
      Key key = keyOf(role, i);
      auto found = slotOf.find(key);
      bool takes = found == slotOf.end();
      if (takes)
        found = slotOf.emplace(key, take(role.kind)).first;
      bool frees = lastUse[key] == i;
      instruction.operands.push_back({role.kind, role.stage, found->second, takes, frees});
      if (frees)
        freed.push_back(instruction.operands.back());
    }
  }

  RankTable &own;
  Roles roles;
  std::map<Key, size_t> lastUse;
  std::map<Key, int> slotOf;
  std::vector<int> freeSlots[kSlotKinds];
};
} // namespace

void assignSlots(Table &table, size_t rank) { Assigner(table, rank).run(); }

} // namespace ptlc::schedule
