//===- Parts.h - Which part of a pipeline operations are in -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Stages.h says what parts are. Passes that add operations give them no mark, so
// their part is found from what they use and who uses them.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_ANALYSIS_STAGE_PARTS_H
#define PTLC_COMPILER_ANALYSIS_STAGE_PARTS_H

#include "dialects/Ptl/Ptl.h"

#include "llvm/ADT/SetVector.h"

#include <set>

namespace ptlc::stage {

/// The loop over micro-batches whose sums are gradients, or null.
ptl::AccumulateOp mainLoop(mlir::Block &step);

/// The results of the loop that `value`, of the step's own block, depends on.
llvm::SetVector<mlir::Value> sumsOf(mlir::Value value, ptl::AccumulateOp loop);

/// True for what is made anew wherever it is used, if its operands can be: constants, pieces of
/// data, broadcasts and gathers of weights.
bool isMadeAnew(mlir::Operation &op);

/// The parts of the body over micro-batches.
class Parts {
public:
  Parts(ptl::AccumulateOp loop, int stages) : loop(loop), stages(stages) {}
  /// Fails with a message if an operation is marked for a part before that of its operands.
  mlir::LogicalResult find();

  /// True if `op` is made anew wherever it is used: pieces of data, constants, gathered weights.
  bool isFree(mlir::Operation *op) const { return free.contains(op); }
  /// The part of an operation of the body that isn't free.
  std::optional<int> of(mlir::Operation *op) const;
  /// The part that adds up a result of the loop: the one that makes its value, and if that is none
  /// in particular, the last (of the first result, the loss, part `stages`).
  int ofSum(unsigned sum) const;
  int stageOf(int part) const {
    return part < stages ? part : part == stages ? stages - 1 : 2 * stages - part;
  }
  /// The arguments of the function that `operand`, of an operation of the body, is made of without
  /// a part of its own.
  void forEachArgument(mlir::Value operand,
                       llvm::function_ref<void(mlir::BlockArgument)> visit) const;
  /// The stages that use each argument of the function.
  llvm::DenseMap<mlir::Value, std::set<int>> stagesOfArguments() const;

private:
  ptl::AccumulateOp loop;
  int stages;
  llvm::DenseSet<mlir::Operation *> free;
  llvm::DenseMap<mlir::Operation *, int> partOf;
};

} // namespace ptlc::stage

#endif // PTLC_COMPILER_ANALYSIS_STAGE_PARTS_H
