//===- Loops.h - Loops over micro-batches with other results ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_PTL_LOOPS_H
#define PTLC_DIALECTS_PTL_LOOPS_H

#include "dialects/Ptl/Ptl.h"

namespace ptlc::ptl {

/// Whose gradients the results of a loop over micro-batches are: paths, "" for other results.
inline constexpr llvm::StringLiteral kGradients = "ptl.grad";

/// Returns the attribute kGradients as a list, with one entry for each result.
llvm::SmallVector<mlir::Attribute> gradientPaths(AccumulateOp loop);

/// Moves the body of `loop` to a new loop in its place, which yields `values` of the body; `paths`
/// are whose gradients these are. The old loop is left without a body, for the caller to replace
/// what is read of it and to erase it.
AccumulateOp withResults(AccumulateOp loop, llvm::ArrayRef<mlir::Value> values,
                         llvm::ArrayRef<mlir::Attribute> paths);

} // namespace ptlc::ptl

#endif // PTLC_DIALECTS_PTL_LOOPS_H
