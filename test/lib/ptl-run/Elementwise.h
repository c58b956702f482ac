//===- Elementwise.h - Element-wise operations ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLC_TEST_LIB_PTL_RUN_ELEMENTWISE_H
#define PTLC_TEST_LIB_PTL_RUN_ELEMENTWISE_H

#include "test/lib/ptl-run/Tensor.h"

namespace ptlc::run {

/// Applies `kind` ("add", "gelu_grad", "select", ...) to operands that are aligned by name with
/// `type`, the result's type. Junk (NaN) in an operand makes junk, except where the operation
/// doesn't look at it: the other branch of a select, `false and junk`, `true or junk`.
llvm::Expected<Tensor> elementwise(llvm::StringRef kind, llvm::ArrayRef<Tensor> operands,
                                   const Type &type);

/// The tanh form of gelu, and its derivative; shared with tests.
double gelu(double x);
double geluDerivative(double x);

} // namespace ptlc::run

#endif // PTLC_TEST_LIB_PTL_RUN_ELEMENTWISE_H
