//===- Differentiate.h - Reverse-mode derivatives ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_GRAD_DIFFERENTIATE_H
#define PTLC_COMPILER_TRANSFORMS_GRAD_DIFFERENTIATE_H

#include "mlir/IR/Builders.h"

namespace ptlc::grad {

/// Appends to `block`, which has no terminator yet and computes the scalar `output`, the derivative
/// of `output` for each of `inputs` (values from outside the block), of the input's type. An entry
/// is null where the output doesn't depend on the input. Fails with a diagnostic at an operation
/// that can't be differentiated.
///
/// The block is walked backwards once; gradients of a value with several uses are added in that
/// order, the last use first, so the sum is the same in every compilation.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
differentiate(mlir::Block &block, mlir::Value output, mlir::ValueRange inputs);

} // namespace ptlc::grad

#endif // PTLC_COMPILER_TRANSFORMS_GRAD_DIFFERENTIATE_H
