//===- VerifyLocal.cpp - Everything comes behind what it needs ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One pass over each rank's list with flags of what has happened. Flags of all ranks share one
// array, since a stage, and one side of an edge, belongs to one rank of a copy.
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/VerifyPhases.h"

#include <algorithm>

namespace ptlc::schedule {

namespace {
class LocalChecker {
public:
  LocalChecker(const Table &table, size_t firstRank, Mistakes &mistakes)
      : table(table), firstRank(firstRank), mistakes(mistakes), into(table.place.size()),
        outOf(table.place.size()), sums(table.place.size()), isTied(table.place.size()),
        far(table.tiedAcrossRanks()) {
    for (int stage : table.tied)
      isTied[stage] = true;
    for (size_t k = 0; k < table.edges.size(); ++k) {
      into[table.edges[k].target].push_back(static_cast<int>(k));
      if (table.edges[k].gradient)
        outOf[table.edges[k].source].push_back(static_cast<int>(k));
    }
    for (Op op : {Op::F, Op::B, Op::W, Op::Loss})
      happened[static_cast<size_t>(op)].resize(table.place.size() * table.micros);
    for (Op op : {Op::RecvA, Op::RecvG})
      happened[static_cast<size_t>(op)].resize(table.edges.size() * table.micros);
  }

  void run() {
    for (int own = 0; own < table.ranks; ++own) {
      rank = firstRank + own;
      tied = norm = false;
      gathered.assign(table.place.size(), false);
      reduced.assign(table.place.size(), false);
      const std::vector<Instruction> &list = table.tables[rank].instructions;
      for (position = 0; position < list.size(); ++position) {
        check(list[position]);
        record(list[position]);
      }
      for (int stage = 0; stage < table.stages(); ++stage)
        if (gathered[stage])
          mistakes.atEnd("GATHER", rank,
                         "stage " + std::to_string(stage) + " is still gathered at the end");
    }
  }

private:
  void fail(std::string_view code, const std::string &message) {
    mistakes.at(code, rank, position, message);
  }
  std::vector<bool>::reference flag(Op op, int index, int micro) {
    return happened[static_cast<size_t>(op)][static_cast<size_t>(index) * table.micros + micro];
  }
  int ownRank() const { return static_cast<int>(rank % table.ranks); }

  /// `index`: a stage, or the edge of a message.
  void need(Op op, int index, int micro) {
    if (!flag(op, index, micro))
      fail("DEPENDENCY", std::string(name(op)) + (isMessage(op) ? " edge " : " s") +
                             std::to_string(index) + " m" + std::to_string(micro) +
                             " hasn't happened before it");
  }
  /// The message of edge `k`, or `local` of its other end on this rank.
  void needEdge(Op message, int k, Op local, int other, int micro) {
    if (table.place[other] == ownRank())
      need(local, other, micro);
    else
      need(message, k, micro);
  }

  void check(const Instruction &at) {
    if (table.zero == 3 && isCompute(at.op) && at.op != Op::Loss && !gathered[at.stage])
      fail("NOT_GATHERED", "its weights are not gathered");
    switch (at.op) {
    case Op::F:
      for (int k : into[at.stage])
        needEdge(Op::RecvA, k, Op::F, table.edges[k].source, at.micro);
      break;
    case Op::B:
    case Op::BW:
      checkBackward(at);
      break;
    case Op::W:
      need(Op::B, at.stage, at.micro);
      break;
    case Op::Loss:
    case Op::SendA:
      need(Op::F, at.stage, at.micro);
      break;
    case Op::SendG:
      need(Op::B, at.stage, at.micro);
      break;
    case Op::Gather:
    case Op::Free:
      if (gathered[at.stage] != (at.op == Op::Free))
        fail("GATHER", at.op == Op::Free ? "not gathered" : "already gathered");
      break;
    case Op::Reduce:
    case Op::Tie:
      checkReduction(at);
      break;
    case Op::Norm:
      for (int stage = 0; stage < table.stages(); ++stage)
        if (table.place[stage] == ownRank())
          needFinished("NORM_EARLY", stage);
      break;
    case Op::Opt:
      if (needFinished("OPT_EARLY", at.stage) && table.clip && !norm)
        fail("OPT_EARLY", "NORM hasn't happened before it");
      break;
    default:
      break;
    }
  }

  void checkBackward(const Instruction &at) {
    need(Op::F, at.stage, at.micro);
    for (int k : outOf[at.stage])
      needEdge(Op::RecvG, k, Op::B, table.edges[k].target, at.micro);
    if (at.stage == table.stages() - 1)
      need(Op::Loss, at.stage, at.micro);
  }

  bool needSums(std::string_view code, int stage) {
    if (sums[stage] == table.micros)
      return true;
    fail(code, "weight gradients of stage " + std::to_string(stage) + " are not complete");
    return false;
  }

  /// A sum over copies or between tied stages: all uses of tied weights on this rank are in it.
  void checkReduction(const Instruction &at) {
    if (!isTied[at.stage]) {
      needSums("REDUCE_EARLY", at.stage);
      return;
    }
    for (int stage : table.tied)
      if (table.place[stage] == ownRank() && !needSums("REDUCE_EARLY", stage))
        break;
    if (at.op == Op::Reduce && far && !tied)
      fail("REDUCE_EARLY", "TIE hasn't happened before it");
  }

  /// Whether all sums over gradients of `stage` have happened; else reports the first that hasn't.
  bool needFinished(std::string_view code, int stage) {
    if (!needSums(code, stage))
      return false;
    if (table.copies > 1 && !reduced[stage])
      fail(code, "REDUCE s" + std::to_string(stage) + " hasn't happened before it");
    else if (isTied[stage] && far && !tied)
      fail(code, "TIE hasn't happened before it");
    else
      return true;
    return false;
  }

  void record(const Instruction &at) {
    switch (at.op) {
    case Op::BW:
      flag(Op::B, at.stage, at.micro) = true;
      flag(Op::W, at.stage, at.micro) = true;
      ++sums[at.stage];
      break;
    case Op::F:
    case Op::B:
    case Op::W:
    case Op::Loss:
      flag(at.op, at.stage, at.micro) = true;
      sums[at.stage] += at.op == Op::W;
      break;
    case Op::RecvA:
    case Op::RecvG:
      flag(at.op, at.edge, at.micro) = true;
      break;
    case Op::Gather:
    case Op::Free:
      gathered[at.stage] = at.op == Op::Gather;
      break;
    case Op::Reduce:
      reduced[at.stage] = true;
      break;
    case Op::Tie:
      tied = true;
      break;
    case Op::Norm:
      norm = true;
      break;
    default:
      break;
    }
  }

  const Table &table;
  size_t firstRank; ///< of the copy
  Mistakes &mistakes;
  std::vector<std::vector<int>> into, outOf; ///< edges; those out of a stage with a gradient only
  std::vector<bool> happened[kOps];          ///< [op][stage or edge, micro]
  std::vector<int> sums;                     ///< weight gradients per stage so far
  std::vector<bool> isTied, gathered, reduced;
  bool far;
  bool tied = false, norm = false;
  size_t rank = 0, position = 0;
};
} // namespace

void verifyLocalOrder(const Table &table, Mistakes &mistakes) {
  for (size_t first = 0; first < table.tables.size(); first += table.ranks)
    LocalChecker(table, first, mistakes).run();
}

} // namespace ptlc::schedule
