//===- Training.h - Runs a program once or for several steps --------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLC_TEST_LIB_PTL_RUN_TRAINING_H
#define PTLC_TEST_LIB_PTL_RUN_TRAINING_H

#include "test/lib/ptl-run/Inputs.h"
#include "llvm/Support/raw_ostream.h"

namespace ptlc::run {

/// Writes "key: [x=2, y=2] 1 2 3 4", nine digits each.
void printTensor(llvm::raw_ostream &out, llvm::StringRef key, const Tensor &tensor);

/// Runs `function` once and prints its scalars, or with `all` every result.
llvm::LogicalResult runOnce(mlir::func::FuncOp function, Inputs &inputs, const RunOptions &options,
                            bool all, GlobalOutcome &outcome);

/// Runs a step function `steps` times, feeding weights and states back, and prints a line of
/// scalars for each: "step 0 loss 5.5 grad_norm 1.2". `outcome` is that of the last step, with the
/// gradients of the first.
llvm::LogicalResult runSteps(mlir::func::FuncOp function, Inputs &inputs, const RunOptions &options,
                             int64_t steps, GlobalOutcome &outcome);

} // namespace ptlc::run

#endif // PTLC_TEST_LIB_PTL_RUN_TRAINING_H
