//===- Operations.h - Kernels and collectives of a micro-batch --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_ANALYSIS_COST_OPERATIONS_H
#define PTLC_COMPILER_ANALYSIS_COST_OPERATIONS_H

#include "compiler/Analysis/Cost/StepBody.h"

namespace ptlc::cost {

/// Fills the operations of each unit of a profile.
class OperationBuilder {
public:
  OperationBuilder(const StepBody &body, Kernels kernels, Profile &profile)
      : body(body), kernels(kernels), profile(profile) {}
  void run();

  /// The operations of `unit` that give the gradient of an input for the gradient `dy`; of a
  /// weight, if `ofWeight`.
  std::vector<unsigned> productsOf(mlir::Value dy, unsigned unit, bool ofWeight) const;
  /// For a product of the backward that gives a weight's gradient, the operand that isn't `x`.
  static mlir::Value otherOperand(mlir::Operation *dot, mlir::Value x);
  bool isWeightGradient(mlir::Operation *op) const { return weightProducts.contains(op); }
  AxisMask maskOf(llvm::ArrayRef<mlir::StringAttr> axes) const;

private:
  Task &add(mlir::Operation *op, Work work);
  void addProduct(ptl::DotOp dot);
  void addAttention(mlir::Operation *op);
  void addTransfer(mlir::Operation *op);
  void addRows(mlir::Operation *op);
  void findWeightProducts();
  void groupStreams();
  bool fuses(mlir::Operation *producer, mlir::Operation *consumer) const;
  bool fusesSeparately(mlir::Operation *producer, mlir::Operation *consumer) const;
  void addGroup(llvm::ArrayRef<mlir::Operation *> group);
  void findBeside(mlir::Operation *transfer);

  const StepBody &body;
  Kernels kernels;
  Profile &profile;
  llvm::DenseSet<mlir::Operation *> weightProducts;
  llvm::DenseMap<mlir::Operation *, unsigned> places; ///< in the operations of its unit
};

} // namespace ptlc::cost

#endif // PTLC_COMPILER_ANALYSIS_COST_OPERATIONS_H
