//===- KeptValues.h - What the backward reads of the forward ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_ANALYSIS_COST_KEPTVALUES_H
#define PTLC_COMPILER_ANALYSIS_COST_KEPTVALUES_H

#include "compiler/Analysis/Cost/Operations.h"
#include "llvm/ADT/SetVector.h"

namespace ptlc::cost {

/// Fills the kept values and the inputs of each unit of a profile.
class KeptFinder {
public:
  KeptFinder(const StepBody &body, const OperationBuilder &operations, Profile &profile)
      : body(body), operations(operations), profile(profile) {}
  void run();

private:
  void require(mlir::Value value);
  void settle(mlir::Value value);
  bool collect(mlir::Value value, mlir::Value whole, llvm::SetVector<mlir::Value> &small,
               llvm::SetVector<mlir::Value> &leaves, unsigned depth) const;
  bool isCheap(mlir::Value value) const;
  bool isStored(mlir::Value value) const;
  unsigned unitOf(mlir::Value value) const;
  void describe(mlir::Value value);
  void comparePhases(const llvm::SetVector<mlir::Value> &read);
  void findInputs();
  void findLate();
  void findLogits();
  bool isLikeLogits(mlir::Value value) const;
  void measureWork(mlir::Operation *op);
  std::string nameOf(mlir::Value value) const;

  const StepBody &body;
  const OperationBuilder &operations;
  Profile &profile;
  llvm::SetVector<mlir::Value> kept;
  mlir::Value logits; ///< or the largest value that the loss is made of
};

} // namespace ptlc::cost

#endif // PTLC_COMPILER_ANALYSIS_COST_KEPTVALUES_H
