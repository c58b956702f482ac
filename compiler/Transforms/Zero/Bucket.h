//===- Bucket.h - Weights that are stored and updated together --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_ZERO_BUCKET_H
#define PTLC_COMPILER_TRANSFORMS_ZERO_BUCKET_H

#include "compiler/Transforms/Zero/BucketSize.h"
#include "compiler/Transforms/Zero/Gradients.h"

namespace ptlc::zero {

/// One of the weights that an optimizer updates.
struct Member {
  unsigned number = 0;        ///< among those of the optimizer
  mlir::BlockArgument weight; ///< of the step
  mlir::Type type;
  mlir::DictionaryAttr attributes; ///< of the argument
  mlir::StringRef path;
  std::string line; ///< where it is declared
  Gradient gradient;
};

/// Weights of one optimizer that are split alike, in order.
struct Bucket {
  unsigned number = 0; ///< in the step
  int level = 0;
  Axes axes;    ///< that split it
  Axes pending; ///< over which its gradients are sums; no axis of `axes`: they are equal already
  llvm::SmallVector<Member, 0> members;
  mlir::LocationAttr place; ///< of the directive
  mlir::RankedTensorType part;
  mlir::Type read;      ///< elements of the weights as all but the optimizer reads them
  mlir::Value gradient; ///< a part

  /// "zero.3", also the name of the dimension of its parts.
  std::string name() const { return "zero." + std::to_string(number); }
  bool isPending() const { return !pending.empty(); }
  /// True if what is whole is a copy of another type, and the weights themselves are masters.
  bool isCast() const { return read != part.getElementType(); }
  /// True if the step and the others get parts of the weights.
  bool splitsWeights() const { return level == 3 || isCast(); }
  /// The attributes of an argument for a part of the weights; `ptl.members` has those of each.
  mlir::NamedAttrList weightAttributes() const;
};

/// The buckets of an optimizer, and the weights that no rule splits.
struct Division {
  std::vector<Bucket> buckets;
  llvm::SmallVector<unsigned> rest;
};

/// Divides the weights of an optimizer. From level 2 on a bucket holds whole layers, of at least
/// what `sizes` says. `next` numbers the buckets of a step.
Division divide(ptl::OptimizeOp op, const Plan &plan, BucketSizes &sizes, unsigned &next);

/// The buckets of weights that aren't trained and are used; only level 3 splits them.
std::vector<Bucket> divideFrozen(mlir::func::FuncOp step, const Plan &plan, BucketSizes &sizes,
                                 unsigned &next);

/// Reduce-scatters pending gradients, or slices finished ones.
mlir::Value scatter(mlir::OpBuilder &builder, const Bucket &bucket, const Plan &plan,
                    llvm::ArrayRef<mlir::Value> gradients);
/// Sums a part over the axes that are left.
mlir::Value finishPart(mlir::OpBuilder &builder, const Bucket &bucket, const Plan &plan,
                       mlir::Value part);

} // namespace ptlc::zero

#endif // PTLC_COMPILER_TRANSFORMS_ZERO_BUCKET_H
