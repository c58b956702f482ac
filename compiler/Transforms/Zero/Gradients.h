//===- Gradients.h - How the gradient of a weight is finished ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_ZERO_GRADIENTS_H
#define PTLC_COMPILER_TRANSFORMS_ZERO_GRADIENTS_H

#include "compiler/Transforms/Zero/Plan.h"

namespace ptlc::zero {

/// A gradient that an optimizer reads.
struct Gradient {
  mlir::Value whole;   ///< what the optimizer reads
  mlir::Value pending; ///< the same before its sums over ranks; `whole` if it is none
  Axes axes;           ///< over which it is pending
  spmd::MaskOp mask;   ///< what makes its padding 0 for the norm; null without padding
  /// The sums over ranks, the last one first.
  llvm::SmallVector<mlir::Operation *> sums;
};

/// Follows a gradient through the sums over ranks that finish it.
Gradient traceGradient(mlir::Value whole, const Plan &plan);

} // namespace ptlc::zero

#endif // PTLC_COMPILER_TRANSFORMS_ZERO_GRADIENTS_H
