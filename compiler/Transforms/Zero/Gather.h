//===- Gather.h - Split weights, whole where they are used ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_ZERO_GATHER_H
#define PTLC_COMPILER_TRANSFORMS_ZERO_GATHER_H

#include "compiler/Transforms/Zero/Bucket.h"

namespace ptlc::zero {

/// A bucket of weights in one function: its part, and the arguments that it replaces.
struct SplitWeights {
  const Bucket *bucket;
  mlir::Value part;
  llvm::SmallVector<mlir::BlockArgument> whole;
};

/// Gathers weights in front of their uses and makes these read what was gathered. At one time at
/// most twice the largest bucket is whole: the one whose next use is the latest goes first, and is
/// gathered again then.
void gatherWeights(llvm::ArrayRef<SplitWeights> weights, const Plan &plan);

/// The level-3 buckets of the step in a function that only reads weights (evaluation, sampling).
void splitReader(mlir::func::FuncOp function, llvm::ArrayRef<const Bucket *> buckets,
                 const Plan &plan);

} // namespace ptlc::zero

#endif // PTLC_COMPILER_TRANSFORMS_ZERO_GATHER_H
