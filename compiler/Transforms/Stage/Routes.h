//===- Routes.h - How values get from stage to stage ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The body over micro-batches as phases, and for each value the slots that hold it
// and the edges that it travels along. A value goes from one of its users to the
// next, its gradient comes back the same way. compiler/doc/Pipeline.md.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_STAGE_ROUTES_H
#define PTLC_COMPILER_TRANSFORMS_STAGE_ROUTES_H

#include "compiler/Analysis/Stage/Parts.h"
#include "compiler/Schedule/Table.h"
#include "dialects/Rt/Rt.h"
#include "llvm/ADT/SetVector.h"

namespace ptlc::stage {

/// Slots of one kind that belong to one stage.
struct Pool {
  rt::SlotKind kind = rt::SlotKind::Input;
  int stage = 0;
  bool operator<(const Pool &other) const {
    return std::pair(kind, stage) < std::pair(other.kind, other.stage);
  }
  bool operator==(const Pool &) const = default;
};

/// A part of the work on a micro-batch that runs without a break.
struct StagePhase {
  rt::PhaseKind kind = rt::PhaseKind::Forward;
  int stage = 0;
  llvm::SmallVector<mlir::Operation *> operations = {};
  /// Results of the loop over micro-batches that are summed here.
  llvm::SmallVector<unsigned> sums = {};
  /// Values that other phases or stages need, each with the slot that keeps it.
  llvm::SetVector<std::pair<mlir::Value, unsigned>> kept = {};
};

/// What travels from one stage to another.
struct Route {
  int source = 0, target = 0;
  llvm::SetVector<mlir::Value> values = {}, gradients = {};
};

class Routes {
public:
  /// `place`: rank of each stage. `split`: the gradients of weights are phases of their own.
  Routes(ptl::AccumulateOp loop, std::vector<int> place, bool split);
  /// Fails with a message if a value would have to travel against the order of the stages.
  mlir::LogicalResult find();

  llvm::ArrayRef<StagePhase> phases() const { return phaseList; }
  llvm::ArrayRef<Route> routes() const { return routeList; }
  const std::vector<int> &place() const { return ranks; }
  const Parts &partsOfBody() const { return parts; }
  /// The pools in which a phase looks for what other phases made.
  llvm::SmallVector<Pool> readBy(const StagePhase &phase) const;
  /// The pool as attributes have it.
  int64_t numberOf(Pool pool) const;
  /// The pools by the second number of StagePhase::kept.
  Pool pool(unsigned number) const {
    return {static_cast<rt::SlotKind>(number / stages), static_cast<int>(number % stages)};
  }

private:
  unsigned indexOf(Pool pool) const {
    return static_cast<unsigned>(pool.kind) * stages + static_cast<unsigned>(pool.stage);
  }
  unsigned phaseOfPart(int part, bool isWeightGradient) const;
  bool isLoss(unsigned phase) const { return phase == stages; }
  llvm::StringRef samples();
  static bool hasSamples(mlir::Operation *op, llvm::StringRef samples);
  void widenForFolds();
  void splitBackward();
  void placeSums();
  unsigned ownerOf(unsigned sum, mlir::Value value) const;
  mlir::LogicalResult routeValue(mlir::Value value, unsigned from);
  mlir::LogicalResult routeForward(mlir::Value value, int from, llvm::ArrayRef<unsigned> users);
  void routeBackward(mlir::Value value, unsigned from, llvm::ArrayRef<unsigned> users);
  Route &route(int source, int target);
  void keep(unsigned phase, mlir::Value value, Pool pool) {
    phaseList[phase].kept.insert({value, indexOf(pool)});
  }
  unsigned forwardOf(int stage) const { return static_cast<unsigned>(stage); }
  unsigned backwardOf(int stage) const { return phaseOfPart(2 * int(stages) - stage, false); }

  ptl::AccumulateOp loop;
  std::vector<int> ranks;
  unsigned stages;
  bool split;
  Parts parts;
  std::vector<StagePhase> phaseList;
  std::vector<Route> routeList;
  llvm::DenseMap<mlir::Operation *, unsigned> phaseOf;
};

} // namespace ptlc::stage

#endif // PTLC_COMPILER_TRANSFORMS_STAGE_ROUTES_H
