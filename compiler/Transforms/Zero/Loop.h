//===- Loop.h - Results of the loop over micro-batches ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_ZERO_LOOP_H
#define PTLC_COMPILER_TRANSFORMS_ZERO_LOOP_H

#include "dialects/Ptl/Ptl.h"

namespace ptlc::zero {

/// Adds results to a loop; `values` are what its body yields for them. Returns the new loop, which
/// has the old results first; the old one is gone.
ptl::AccumulateOp addResults(ptl::AccumulateOp loop, mlir::ValueRange values);

/// Erases what nothing reads, in this block only.
void eraseDead(mlir::Block &block);

/// Removes the results that nothing reads, and what was computed for them alone.
void dropUnusedResults(ptl::AccumulateOp loop);

} // namespace ptlc::zero

#endif // PTLC_COMPILER_TRANSFORMS_ZERO_LOOP_H
