//===- VerifySlots.cpp - Slots hold what is read from them ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One pass over each rank's list, following what every slot holds. In a group of messages slots are
// freed at the group's end, since all its messages are under way together.
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/Roles.h"
#include "compiler/Schedule/VerifyPhases.h"

#include <algorithm>

namespace ptlc::schedule {

namespace {
/// What a slot holds.
struct Content {
  int stage = -1, micro = -1;

  bool operator==(const Content &) const = default;
  std::string text() const {
    return stage < 0 ? "nothing"
                     : "stage " + std::to_string(stage) + " micro-batch " + std::to_string(micro);
  }
};

class SlotChecker {
public:
  SlotChecker(const Table &table, const Roles &roles, size_t rank, Mistakes &mistakes)
      : table(table), roles(roles), list(table.tables[rank].instructions), rank(rank),
        mistakes(mistakes), local(table.place.size(), -1) {
    int stages = 0;
    for (int stage = 0; stage < table.stages(); ++stage)
      if (table.place[stage] == static_cast<int>(rank % table.ranks))
        local[stage] = stages++;
    for (unsigned kind = 0; kind < kSlotKinds; ++kind) {
      contents[kind].resize(std::max(0, table.tables[rank].slots[kind]));
      held[kind].resize(static_cast<size_t>(stages) * table.micros);
      lastUse[kind].resize(held[kind].size());
    }
    for (size_t i = 0; i < list.size(); ++i)
      for (const Role &role : rolesOf(list[i]))
        valueAt(lastUse, role, list[i].micro) = static_cast<int>(i);
  }

  void run() {
    for (size_t begin = 0, end; begin < list.size(); begin = end) {
      end = unitEnd(list, begin);
      std::vector<std::pair<Role, size_t>> freed; // and the instruction
      for (position = begin; position < end; ++position)
        checkInstruction(freed);
      for (auto [role, at] : freed)
        release(role, list[at]);
    }
    for (unsigned kind = 0; kind < kSlotKinds; ++kind)
      for (size_t slot = 0; slot < contents[kind].size(); ++slot)
        if (contents[kind][slot].stage >= 0)
          mistakes.atEnd("SLOT_LEAK", rank,
                         std::string("slot ") + name(static_cast<SlotKind>(kind)) + ":" +
                             std::to_string(slot) + " still holds " + contents[kind][slot].text() +
                             " at the end");
  }

private:
  const std::vector<Role> &rolesOf(const Instruction &at) const {
    static const std::vector<Role> none;
    return at.stage < 0 ? none : roles.of(at.op, at.stage);
  }
  /// The entry of a role's value in a list per kind.
  int &valueAt(std::vector<int> (&lists)[kSlotKinds], const Role &role, int micro) {
    return lists[static_cast<size_t>(role.kind)]
                [static_cast<size_t>(local[role.stage]) * table.micros + micro];
  }
  void fail(std::string_view code, const std::string &message) {
    mistakes.at(code, rank, position, message);
  }

  void checkInstruction(std::vector<std::pair<Role, size_t>> &freed) {
    const Instruction &at = list[position];
    const std::vector<Role> &expected = rolesOf(at);
    for (const Role &role : expected)
      if (std::none_of(at.operands.begin(), at.operands.end(), [&](const Operand &operand) {
            return Role{operand.kind, operand.stage} == role;
          }))
        fail("SLOT_MISSING", std::string("needs a slot ") + name(role.kind) + " of stage " +
                                 std::to_string(role.stage));
    for (auto operand = at.operands.begin(); operand != at.operands.end(); ++operand) {
      Role role{operand->kind, operand->stage};
      bool isExpected = std::find(expected.begin(), expected.end(), role) != expected.end();
      bool isSecond = std::any_of(at.operands.begin(), operand, [&](const Operand &other) {
        return Role{other.kind, other.stage} == role;
      });
      if (!isExpected || isSecond)
        fail("SLOT_EXTRA", text(*operand) + " is no operand of it");
      else
        checkOperand(*operand, at, freed);
    }
  }

  void checkOperand(const Operand &operand, const Instruction &at,
                    std::vector<std::pair<Role, size_t>> &freed) {
    std::vector<Content> &pool = contents[static_cast<size_t>(operand.kind)];
    if (operand.slot < 0 || operand.slot >= static_cast<int>(pool.size()))
      return fail("SLOT_RANGE", text(operand) + ": there are " + std::to_string(pool.size()) +
                                    " slots of kind " + name(operand.kind));
    Role role{operand.kind, operand.stage};
    Content &content = pool[operand.slot], right{operand.stage, at.micro};
    if (operand.takes) {
      if (content.stage >= 0)
        fail("SLOT_OVERWRITTEN", text(operand) + " still holds " + content.text());
      if (valueAt(held, role, at.micro)++ > 0)
        fail("SLOT_TWICE",
             std::string(1, name(operand.kind)) + " of " + right.text() + " already has a slot");
      content = right;
    } else if (content != right) {
      fail("SLOT_STALE", text(operand) + " holds " + content.text());
    }
    if (!operand.frees)
      return;
    int last = valueAt(lastUse, role, at.micro);
    if (last != static_cast<int>(position))
      fail("SLOT_EARLY",
           text(operand) + " is freed before its last use at position " + std::to_string(last));
    freed.emplace_back(role, position);
  }

  void release(const Role &role, const Instruction &at) {
    for (const Operand &operand : at.operands)
      if (Role{operand.kind, operand.stage} == role) {
        contents[static_cast<size_t>(role.kind)][operand.slot] = {};
        --valueAt(held, role, at.micro);
      }
  }

  const Table &table;
  const Roles &roles;
  const std::vector<Instruction> &list;
  size_t rank, position = 0;
  Mistakes &mistakes;
  std::vector<int> local;                    ///< stage -> its number on this rank
  std::vector<Content> contents[kSlotKinds]; ///< [kind][slot]
  std::vector<int> held[kSlotKinds];         ///< [kind][stage, micro]: slots in use
  std::vector<int> lastUse[kSlotKinds];      ///< [kind][stage, micro]
};
} // namespace

void verifySlots(const Table &table, Mistakes &mistakes) {
  Roles roles(table);
  for (size_t rank = 0; rank < table.tables.size(); ++rank)
    SlotChecker(table, roles, rank, mistakes).run();
}

} // namespace ptlc::schedule
