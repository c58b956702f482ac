//===- Gradients.h - Gradients against differences of the loss ------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLC_TEST_LIB_PTL_RUN_GRADIENTS_H
#define PTLC_TEST_LIB_PTL_RUN_GRADIENTS_H

#include "test/lib/ptl-run/Inputs.h"

namespace ptlc::run {

/// A derivative from values of the function alone: central differences at several steps, each pair
/// combined by Richardson's extrapolation, from wide to narrow until two neighbours agree to
/// `tolerance` times `scale`. None agree at a kink (relu, max), where there is no derivative.
struct Slope {
  double value = 0;
  bool smooth = false;
};
llvm::FailureOr<Slope> slopeAtZero(llvm::function_ref<llvm::FailureOr<double>(double)> function,
                                   double scale, double tolerance);

/// Compares the gradients that `step` marks with differences of `loss`, along `directions` random
/// directions per weight, relative to the gradient's length. Prints a line per weight that fails,
/// and how many directions were skipped because the loss isn't smooth there.
llvm::LogicalResult checkGradients(mlir::func::FuncOp loss, mlir::func::FuncOp step, Inputs &inputs,
                                   RunOptions options, int64_t directions, double tolerance);

} // namespace ptlc::run

#endif // PTLC_TEST_LIB_PTL_RUN_GRADIENTS_H
