//===- VerifyShape.cpp - Ranges, and that everything happens once ---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/VerifyPhases.h"

#include <algorithm>
#include <unordered_set>

namespace ptlc::schedule {

static std::string outside(const char *what, int size) {
  return std::string(what) + " outside 0.." + std::to_string(size - 1);
}

/// What later phases index with must be in range. Returns whether it is.
static bool verifyHeader(const Table &table, Mistakes &mistakes) {
  auto isStage = [&](int stage) { return stage >= 0 && stage < table.stages(); };
  if (table.ranks < 1 || table.micros < 1 || table.copies < 1 || table.place.empty())
    mistakes.ofTable("a table needs a rank, a stage, a micro-batch and a copy");
  else if (table.tables.size() != static_cast<size_t>(table.ranks) &&
           table.tables.size() != static_cast<size_t>(table.ranks) * table.copies)
    mistakes.ofTable(std::to_string(table.tables.size()) + " lists for " +
                     std::to_string(table.ranks) + " ranks");
  for (int rank : table.place)
    if (rank < 0 || rank >= table.ranks)
      mistakes.ofTable(outside("a stage lies on a rank", table.ranks));
  for (const Edge &edge : table.edges)
    if (!isStage(edge.source) || !isStage(edge.target) || edge.source >= edge.target)
      mistakes.ofTable("edge " + std::to_string(edge.source) + ">" + std::to_string(edge.target) +
                       " doesn't lead to a later stage");
  for (int stage : table.tied)
    if (!isStage(stage))
      mistakes.ofTable(outside("a tied stage", table.stages()));
  return mistakes.list.empty();
}

namespace {
class ShapeChecker {
public:
  ShapeChecker(const Table &table, size_t rank, Mistakes &mistakes)
      : table(table), rank(rank), own(static_cast<int>(rank % table.ranks)), mistakes(mistakes) {}

  void run() {
    const std::vector<Instruction> &list = table.tables[rank].instructions;
    for (size_t i = 0; i < list.size(); ++i)
      check(list[i], i);
  }

private:
  void fail(std::string_view code, size_t i, const std::string &message) {
    mistakes.at(code, rank, i, message);
  }

  void check(const Instruction &at, size_t i) {
    if ((isCompute(at.op) || isMessage(at.op)) && (at.micro < 0 || at.micro >= table.micros))
      fail("BAD_MB", i, outside("micro-batch", table.micros));
    if (at.op == Op::Norm ? at.stage != -1 : at.stage < 0 || at.stage >= table.stages())
      return fail("BAD_STAGE", i,
                  at.op == Op::Norm ? "the norm belongs to no stage"
                                    : outside("stage", table.stages()));
    if (at.op != Op::Norm && table.place[at.stage] != own)
      return fail("WRONG_RANK", i,
                  "stage " + std::to_string(at.stage) + " lives on rank " +
                      std::to_string(table.place[at.stage]));
    if (at.op == Op::Loss && at.stage != table.stages() - 1)
      fail("BAD_STAGE", i, "the loss belongs to stage " + std::to_string(table.stages() - 1));
    if (isMessage(at.op))
      checkMessage(at, i);
    if (isCollective(at.op))
      checkGroup(at, i);
    checkBatch(at, i);
  }

  void checkMessage(const Instruction &at, size_t i) {
    if (at.edge < 0 || at.edge >= static_cast<int>(table.edges.size()))
      return fail("BAD_EDGE", i, "no such edge");
    const Edge &edge = table.edges[at.edge];
    bool isSource = at.op == Op::SendA || at.op == Op::RecvG;
    int mine = isSource ? edge.source : edge.target, other = isSource ? edge.target : edge.source;
    if (at.stage != mine)
      fail("BAD_EDGE", i,
           "edge " + std::to_string(edge.source) + ">" + std::to_string(edge.target) +
               " doesn't belong to this side");
    else if (table.place[other] == own)
      fail("SELF_SEND", i, "both stages live on this rank");
    else if (at.peer != table.place[other])
      fail("BAD_PEER", i,
           "stage " + std::to_string(other) + " lives on rank " +
               std::to_string(table.place[other]));
    else if (!edge.gradient && (at.op == Op::SendG || at.op == Op::RecvG))
      fail("NO_GRAD", i, "this edge has no gradient");
  }

  void checkGroup(const Instruction &at, size_t i) {
    Group right = at.op == Op::Tie ? Group::Tie : at.op == Op::Norm ? Group::All : Group::Dp;
    if (at.group != right)
      fail("BAD_GROUP", i, "its group is '" + std::string(name(right)) + "'");
    if (at.op == Op::Tie &&
        std::find(table.tied.begin(), table.tied.end(), at.stage) == table.tied.end())
      fail("BAD_GROUP", i, "the stage has no tied weight");
  }

  void checkBatch(const Instruction &at, size_t i) {
    if (at.batch != 0) {
      if (!isMessage(at.op))
        fail("BAD_BATCH", i, "only sends and receives are grouped");
      else if (at.batch != before && batches.count(at.batch))
        fail("BAD_BATCH", i, "group number used twice");
      batches.insert(at.batch);
    }
    before = at.batch;
  }

  const Table &table;
  size_t rank;
  int own; ///< its coordinate in the pipeline
  Mistakes &mistakes;
  std::unordered_set<int> batches;
  int before = 0;
};
} // namespace

void verifyShape(const Table &table, Mistakes &mistakes) {
  if (!verifyHeader(table, mistakes))
    return;
  for (size_t rank = 0; rank < table.tables.size(); ++rank)
    ShapeChecker(table, rank, mistakes).run();
}

namespace {
/// Counts what one copy of the pipeline does.
class OnceChecker {
public:
  OnceChecker(const Table &table, size_t first, Mistakes &mistakes)
      : table(table), first(first), mistakes(mistakes) {
    for (std::vector<int> &of : counts)
      of.resize(table.place.size() * table.micros);
    for (std::vector<int> &of : perStage)
      of.resize(table.place.size());
  }

  void run() {
    for (int rank = 0; rank < table.ranks; ++rank)
      countRank(first + rank);
    for (int stage = 0; stage < table.stages(); ++stage)
      findMissing(stage);
    std::vector<bool> needsTie(table.ranks);
    for (int stage : table.tied)
      needsTie[table.place[stage]] = table.tiedAcrossRanks();
    for (int rank = 0; rank < table.ranks; ++rank) {
      if (needsTie[rank] && !ties[rank])
        mistakes.atEnd("MISSING", first + rank, "TIE is missing");
      if (table.clip && !norms[rank])
        mistakes.atEnd("MISSING", first + rank, "exactly one NORM is needed");
    }
  }

private:
  int &count(Op op, int stage, int micro) {
    return counts[static_cast<size_t>(op)][static_cast<size_t>(stage) * table.micros + micro];
  }

  void countRank(size_t rank) {
    const std::vector<Instruction> &list = table.tables[rank].instructions;
    for (size_t i = 0; i < list.size(); ++i)
      countInstruction(list[i], rank, i);
  }

  void countInstruction(const Instruction &at, size_t rank, size_t i) {
    if (at.op == Op::BW || isCompute(at.op)) {
      for (Op part : {Op::F, Op::B, Op::W, Op::Loss})
        if (part == at.op || (at.op == Op::BW && (part == Op::B || part == Op::W)))
          if (++count(part, at.stage, at.micro) == 2)
            mistakes.at("TWICE", rank, i,
                        "second " + std::string(name(part)) + " of this stage and micro-batch");
    } else if (at.op == Op::Opt || at.op == Op::Reduce || at.op == Op::Tie) {
      ties[rank - first] = ties[rank - first] || at.op == Op::Tie;
      if (++perStage[static_cast<size_t>(at.op)][at.stage] == 2)
        mistakes.at("TWICE", rank, i, "second " + std::string(name(at.op)) + " of this stage");
    } else if (at.op == Op::Norm && ++norms[rank - first] == 2) {
      mistakes.at("TWICE", rank, i, "exactly one NORM is needed");
    }
  }

  void findMissing(int stage) {
    size_t rank = first + table.place[stage];
    std::string its = " s" + std::to_string(stage);
    for (int micro = 0; micro < table.micros; ++micro)
      for (Op op : {Op::F, Op::B, Op::W, Op::Loss})
        if ((op != Op::Loss || stage == table.stages() - 1) && !count(op, stage, micro))
          mistakes.atEnd("MISSING", rank,
                         std::string(name(op)) + its + " m" + std::to_string(micro) +
                             " is missing");
    if (!perStage[static_cast<size_t>(Op::Opt)][stage])
      mistakes.atEnd("MISSING", rank, "OPT" + its + " is missing");
    if (table.copies > 1 && !perStage[static_cast<size_t>(Op::Reduce)][stage])
      mistakes.atEnd("MISSING", rank,
                     "REDUCE" + its + " is missing (" + std::to_string(table.copies) + " copies)");
  }

  const Table &table;
  size_t first; ///< rank of the copy's beginning
  Mistakes &mistakes;
  std::vector<int> counts[kOps];   ///< [op][stage * micros + micro]
  std::vector<int> perStage[kOps]; ///< [op][stage]
  std::vector<int> norms = std::vector<int>(table.ranks);
  std::vector<bool> ties = std::vector<bool>(table.ranks);
};
} // namespace

void verifyOnce(const Table &table, Mistakes &mistakes) {
  for (size_t first = 0; first < table.tables.size(); first += table.ranks)
    OnceChecker(table, first, mistakes).run();
}

} // namespace ptlc::schedule
