//===- Verify.h - Checks that verifiers of ptl share ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_PTL_VERIFY_H
#define PTLC_DIALECTS_PTL_VERIFY_H

#include "dialects/Ptl/Ptl.h"

namespace ptlc::ptl {

// Each emits a diagnostic at `op` if the check fails; `what` names the value ("operand").
mlir::LogicalResult expectDim(mlir::Operation *op, llvm::StringRef what, mlir::Type type,
                              llvm::StringRef dim);
mlir::LogicalResult expectType(mlir::Operation *op, llvm::StringRef what, mlir::Type expected,
                               mlir::Type found);
mlir::LogicalResult expectFloat(mlir::Operation *op, mlir::Value value);

} // namespace ptlc::ptl

#endif // PTLC_DIALECTS_PTL_VERIFY_H
