//===- BucketSize.h - How large a bucket is to be ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_ZERO_BUCKETSIZE_H
#define PTLC_COMPILER_TRANSFORMS_ZERO_BUCKETSIZE_H

#include "compiler/Analysis/Cost/Times.h"
#include "compiler/Transforms/Zero/Plan.h"
#include "llvm/ADT/MapVector.h"

namespace ptlc::zero {

/// Sizes of buckets, in bytes of whole tensors: what the plan's `bucket` says, or else the smallest
/// that loses little to what a call costs whatever it carries. compiler/doc/Zero.md has the rule.
class BucketSizes {
public:
  /// `least`: no bucket is made smaller than this without `bucket`.
  BucketSizes(mlir::ModuleOp module, mlir::func::FuncOp step, const Plan &plan, int64_t least);

  /// The size for weights that `axes` split.
  int64_t of(const Axes &axes);
  /// The sizes that were asked for, with reasons, for the module's attribute `ptl.buckets`.
  mlir::ArrayAttr describe() const;

private:
  struct Size {
    int64_t bytes = 0;
    std::string reason;
  };
  Size choose(const Axes &axes) const;

  const Plan &plan;
  std::string links; ///< what they are called
  cost::Machine machine;
  cost::Constants constants;
  int64_t least, most;
  llvm::MapVector<mlir::Attribute, Size> sizes;
};

} // namespace ptlc::zero

#endif // PTLC_COMPILER_TRANSFORMS_ZERO_BUCKETSIZE_H
