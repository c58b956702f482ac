//===- VerifyPhases.h - The phases of the verifier ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each phase may assume what those before it found right; verify() stops after the first that finds
// a mistake. A table may hold one list per rank, or, for tests, one per rank and copy.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_SCHEDULE_VERIFYPHASES_H
#define PTLC_COMPILER_SCHEDULE_VERIFYPHASES_H

#include "compiler/Schedule/Verify.h"

namespace ptlc::schedule {

/// Collects mistakes.
class Mistakes {
public:
  explicit Mistakes(const Table &table) : table(table) {}

  /// A mistake of an instruction.
  void at(std::string_view code, size_t rank, size_t position, const std::string &message) {
    std::string its = text(table.tables[rank].instructions[position]);
    list.push_back(
        {code, static_cast<int>(rank), static_cast<int>(position), its + ": " + message});
  }
  /// Something that a list lacks.
  void atEnd(std::string_view code, size_t rank, const std::string &message) {
    size_t end = table.tables[rank].instructions.size();
    list.push_back({code, static_cast<int>(rank), static_cast<int>(end), message});
  }
  void ofTable(const std::string &message) { list.push_back({"BAD_TABLE", 0, 0, message}); }

  std::vector<Mistake> list;

private:
  const Table &table;
};

/// 1: every number is in its range, stages are on their ranks, messages on their edges.
void verifyShape(const Table &table, Mistakes &mistakes);
/// 2: everything happens exactly once.
void verifyOnce(const Table &table, Mistakes &mistakes);
/// 3: both ends of a channel see the same messages in the same order.
void verifyChannels(const Table &table, Mistakes &mistakes);
/// 4: all members of a group see the same collectives in the same order.
void verifyCollectives(const Table &table, Mistakes &mistakes);
/// 5: on each rank everything comes behind what it needs.
void verifyLocalOrder(const Table &table, Mistakes &mistakes);
/// 6: slots hold what is read from them.
void verifySlots(const Table &table, Mistakes &mistakes);
/// 7: no rank waits for ever.
void verifyRun(const Table &table, int depth, Mistakes &mistakes);
/// 8: weight gradients are summed in the order of one device.
void verifySums(const Table &table, Mistakes &mistakes);
/// 9: no more stashes than planned.
void verifyMemory(const Table &table, const std::vector<int> &limit, Mistakes &mistakes);

/// Members of groups. Ranks are numbered copy * ranks + rank.
class Groups {
public:
  explicit Groups(const Table &table);
  /// A number for the group of `rank`; equal for all of its members.
  size_t of(Group group, size_t rank) const;
  const std::vector<size_t> &members(size_t group) const { return lists[group]; }
  size_t count() const { return lists.size(); }

private:
  size_t ranks = 0, copies = 0;
  std::vector<std::vector<size_t>> lists; ///< of dp by rank, of tie by copy, of all
};

} // namespace ptlc::schedule

#endif // PTLC_COMPILER_SCHEDULE_VERIFYPHASES_H
