//===- Directions.h - Optimizers that need whole tensors --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_ZERO_DIRECTIONS_H
#define PTLC_COMPILER_TRANSFORMS_ZERO_DIRECTIONS_H

#include "compiler/Transforms/Zero/Bucket.h"

namespace ptlc::zero {

/// Makes one operation of those of one optimizer that make the directions of weights that a rule
/// splits, in the place of the first of them.
void mergeDirections(mlir::func::FuncOp step, const Plan &plan);

/// Moves the builder to where the directions of a bucket's weights are first read.
void moveToUse(mlir::OpBuilder &builder, ptl::OptimizeOp op, const Bucket &bucket);

/// Lets all that reads the directions of a bucket read what is gathered from `part`.
void gatherDirections(mlir::OpBuilder &builder, ptl::OptimizeOp op, const Bucket &bucket,
                      const Plan &plan, mlir::Value part);

/// The steps along the directions of a bucket's weights, in order.
llvm::SmallVector<ptl::OptimizeOp> stepsOf(const Bucket &bucket);

/// One step of a part of the weights instead of `steps`, which become superfluous; returns the new
/// part.
mlir::Value stepPart(llvm::ArrayRef<ptl::OptimizeOp> steps, const Bucket &bucket, const Plan &plan,
                     mlir::Value part);

} // namespace ptlc::zero

#endif // PTLC_COMPILER_TRANSFORMS_ZERO_DIRECTIONS_H
