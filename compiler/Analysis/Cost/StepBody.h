//===- StepBody.h - The structure of a micro-batch's work -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_ANALYSIS_COST_STEPBODY_H
#define PTLC_COMPILER_ANALYSIS_COST_STEPBODY_H

#include "compiler/Analysis/Cost/Profile.h"
#include "dialects/Spmd/Spmd.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

namespace ptlc::cost {

/// The body of the accumulate that computes gradients: which operations are the forward, which unit
/// each belongs to, and how they depend on each other.
class StepBody {
public:
  /// `accumulate` has the attribute `ptl.grad`.
  StepBody(ptl::AccumulateOp accumulate, const ProfileOptions &options);

  mlir::Block &block() const { return *body; }
  llvm::ArrayRef<std::string> unitNames() const { return names; }
  /// Whether unit `number` is a part of a stack.
  bool isPart(unsigned number) const { return parts[number]; }

  bool contains(mlir::Operation *op) const { return op && op->getBlock() == body; }
  /// Whether the loss or a metric depends on it.
  bool isForward(mlir::Operation *op) const { return facts.lookup(op).forward; }
  unsigned unitOf(mlir::Operation *op) const { return facts.lookup(op).unit; }
  /// How many products, collectives and the like lie on the longest path to it.
  unsigned levelOf(mlir::Operation *op) const { return facts.lookup(op).level; }
  /// From a product of two activations, with it, to the next one, without.
  bool isCore(mlir::Operation *op) const { return facts.lookup(op).core; }
  /// That next one, or an attention in one operation.
  bool attends(mlir::Operation *op) const { return facts.lookup(op).attends; }
  bool isStatistic(mlir::Value value) const;
  /// Made of constants, indices and random numbers alone.
  bool isSource(mlir::Operation *op) const { return op && facts.lookup(op).source; }
  /// A source without random numbers costs nothing to make where it is read.
  bool isFreeSource(mlir::Operation *op) const {
    return op && facts.lookup(op).source && !facts.lookup(op).random;
  }
  /// No product comes behind it: logits, and what the loss makes of them.
  bool isLoss(mlir::Operation *op) const { return facts.lookup(op).loss; }

  /// Changes nothing in memory: a new name, or a value read several times.
  static bool isView(mlir::Operation *op);
  /// Works row by row; else it is a product, a collective, an attention or moves rows.
  static bool isRowWork(mlir::Operation *op);
  /// A collective that sends something.
  static bool isTransfer(mlir::Operation *op);
  /// What lies in memory where `value` is read.
  static mlir::Value root(mlir::Value value);
  /// The weight, field or state that `value` is, if it is an argument of @step.
  static bool isArgument(mlir::Value value);
  /// Whether a dot multiplies two activations.
  bool isActivationProduct(mlir::Operation *op) const;

  /// Bytes of `value` where it lies; statistics per row and the loss stay in f32.
  double bytesOf(mlir::Value value) const;
  double widthOf(mlir::Value value) const;
  /// The operations that read `value`, beyond views.
  llvm::SmallVector<mlir::Operation *> readers(mlir::Value value) const;

private:
  struct Facts {
    bool forward = false, source = false, random = false, loss = false;
    bool core = false, attends = false;
    bool statistic = false; ///< per row, and never narrowed
    unsigned unit = 0, level = 0;
  };
  void findForward(ptl::AccumulateOp accumulate);
  void findSources();
  void findUnits(llvm::ArrayRef<std::string> stacks);
  void findLevels();
  void findCore();
  void findLoss();
  void findStatistics();

  mlir::Block *body;
  bool half;
  llvm::DenseMap<mlir::Operation *, Facts> facts;
  std::vector<std::string> names;
  std::vector<bool> parts;
};

} // namespace ptlc::cost

#endif // PTLC_COMPILER_ANALYSIS_COST_STEPBODY_H
