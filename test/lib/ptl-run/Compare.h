//===- Compare.h - The same numbers into two programs ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLC_TEST_LIB_PTL_RUN_COMPARE_H
#define PTLC_TEST_LIB_PTL_RUN_COMPARE_H

#include "test/lib/ptl-run/Inputs.h"

namespace ptlc::run {

struct Difference {
  double error = 0, scale = 0; ///< the largest difference, the largest element
  int64_t at = -1;             ///< of the largest difference, or of the first NaN
  bool within(double tolerance) const;
};
/// Compares element by element. A NaN agrees with a NaN only.
Difference difference(const Tensor &a, const Tensor &b);

/// Runs the functions of two modules on the same inputs and compares every result, and gradients
/// that both mark. A result passes if it differs by at most `tolerance` times its largest element.
/// Prints one line for each result that fails, or that only one has, and a summary.
llvm::LogicalResult compareModules(mlir::func::FuncOp a, mlir::func::FuncOp b, Inputs &inputs,
                                   const RunOptions &options, double tolerance);

} // namespace ptlc::run

#endif // PTLC_TEST_LIB_PTL_RUN_COMPARE_H
