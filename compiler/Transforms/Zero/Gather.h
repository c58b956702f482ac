//===- Gather.h - Split weights, whole where they are used ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_ZERO_GATHER_H
#define PTLC_COMPILER_TRANSFORMS_ZERO_GATHER_H

#include "compiler/Transforms/Zero/Bucket.h"

namespace ptlc::zero {

/// A bucket of weights in one function: its part, and the values that it replaces.
struct SplitWeights {
  const Bucket *bucket;
  mlir::Value part;
  llvm::SmallVector<mlir::Value> whole; ///< arguments, or what they are cast to; null: not used
};

/// The type of elements in which all but the optimizer reads a weight: bf16 if nothing but casts to
/// it does, else the weight's own.
mlir::Type elementRead(mlir::BlockArgument weight);

/// Lets the uses of casts read a cast of the part instead, if all weights are read by casts alone.
void readCasts(SplitWeights &weights);

/// Gathers weights at the beginning of the function.
void gatherOnce(const SplitWeights &weights, const Plan &plan);

/// Gathers weights in front of their uses and makes these read what was gathered. At one time at
/// most twice the largest bucket is whole: the one whose next use is the latest goes first, and is
/// gathered again then.
void gatherWeights(llvm::ArrayRef<SplitWeights> weights, const Plan &plan);

/// The split weights of the step in a function that only reads weights (evaluation, sampling).
void splitReader(mlir::func::FuncOp function, llvm::ArrayRef<const Bucket *> buckets,
                 const Plan &plan);

} // namespace ptlc::zero

#endif // PTLC_COMPILER_TRANSFORMS_ZERO_GATHER_H
