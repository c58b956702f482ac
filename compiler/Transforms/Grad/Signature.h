//===- Signature.h - What the loss takes and how it is trained --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_GRAD_SIGNATURE_H
#define PTLC_COMPILER_TRANSFORMS_GRAD_SIGNATURE_H

#include "dialects/Ptl/Ptl.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ptlc::grad {

/// A weight of `@loss`.
struct Weight {
  mlir::BlockArgument argument;
  llvm::StringRef path;
  bool frozen = false;
};

/// One optimizer of the train block with the weights that it updates.
struct Optimizer {
  ptl::OptimizerKind kind;
  mlir::DictionaryAttr settings;       ///< numbers by name: lr, beta1, ..
  llvm::SmallVector<unsigned> weights; ///< indices into `Signature::weights`
  /// Names of the states of each weight, in the order of ptl.optimize.
  llvm::ArrayRef<llvm::StringLiteral> states() const;
  /// Names of the hyper-parameters that are arguments of the step; but for those of muon and lamb,
  /// which need two operations, in the order of ptl.optimize, without `scale`.
  llvm::ArrayRef<llvm::StringLiteral> hypers() const;
  double number(llvm::StringRef name) const;
};

struct Signature {
  llvm::SmallVector<Weight> weights;
  llvm::SmallVector<mlir::BlockArgument> data; ///< fields
  mlir::BlockArgument step, valid;             ///< valid is null unless the last batch may be short
  llvm::SmallVector<Optimizer> optimizers;
  std::optional<double> clip;
  int64_t microbatches = 1;
  bool perUse = false; ///< each use of a weight has a gradient accumulator of its own

  /// Reads the attributes of the module and of `@loss`. Fails with a diagnostic if one is missing.
  static mlir::FailureOr<Signature> read(mlir::ModuleOp module, mlir::func::FuncOp loss);

private:
  mlir::LogicalResult readArguments(mlir::func::FuncOp loss);
  mlir::LogicalResult readOptimizers(mlir::ModuleOp module, mlir::DictionaryAttr train);
};

} // namespace ptlc::grad

#endif // PTLC_COMPILER_TRANSFORMS_GRAD_SIGNATURE_H
