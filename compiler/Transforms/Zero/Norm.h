//===- Norm.h - The norm of split gradients ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_ZERO_NORM_H
#define PTLC_COMPILER_TRANSFORMS_ZERO_NORM_H

#include "compiler/Transforms/Zero/Plan.h"

namespace ptlc::zero {

/// What enters the norm.
struct NormTerm {
  mlir::Value value;
  llvm::SmallVector<mlir::Type> members; ///< if `value` is a part of a bucket
  Axes axes;                             ///< over which ranks have different parts
};

/// What the norm is of, before padding is made 0.
llvm::DenseSet<mlir::Value> gradientsOfNorm(mlir::func::FuncOp step, const Plan &plan);

/// Replaces the norm of a step by the root of exact sums; what made the old one stays, unused.
/// `termOf` gives what stands for a term of the norm that there is, or nullopt if another has it
/// already.
void replaceNorm(mlir::func::FuncOp step, const Plan &plan,
                 llvm::function_ref<std::optional<NormTerm>(const NormTerm &)> termOf);

} // namespace ptlc::zero

#endif // PTLC_COMPILER_TRANSFORMS_ZERO_NORM_H
