//===- Layouts.h - How tensors are folded to matrices ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Tensors with the same names of dimensions are folded alike in the whole
// module. The fold follows the contractions: trailing dimensions that a matrix
// product treats as one (heads and their depth) are the columns together, since
// padded rows would otherwise tear them apart.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_MEMORY_LAYOUTS_H
#define PTLC_COMPILER_TRANSFORMS_MEMORY_LAYOUTS_H

#include "compiler/Analysis/Kernel/Layout.h"
#include "dialects/Rt/Rt.h"
#include "dialects/Spmd/Spmd.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace ptlc::memory {

/// Where the tensors of a bucket lie in it, and how it is cut.
struct BucketLayout {
  llvm::SmallVector<int64_t> starts; ///< elements, one per tensor
  llvm::SmallVector<kernel::MatrixLayout> tensors;
  int64_t part = 0;     ///< elements of the part of one device
  int64_t unpadded = 0; ///< the same before this stage
  int64_t ranks = 1;
  spmd::AxesAttr axes;
};

class Layouts {
public:
  explicit Layouts(mlir::ModuleOp module);

  kernel::MatrixLayout of(mlir::Type tensor) const;
  /// Bytes of the tensor with its padding.
  int64_t bytes(mlir::Type tensor) const;
  /// True if the reshape only renames memory.
  bool isView(ptl::ReshapeOp op) const;
  /// The bucket of which values of this type are parts, or null.
  const BucketLayout *bucketOf(mlir::Type part) const;
  /// Gives parts of buckets the size that they have with all padding, in all types of the module.
  void resizeParts(mlir::ModuleOp module) const;

private:
  void followDot(ptl::DotOp op);
  bool followReshape(ptl::ReshapeOp op);
  void want(mlir::Type tensor, unsigned columns);
  void findBuckets(mlir::ModuleOp module);
  void layOutBucket(mlir::Type part, mlir::TypeRange tensors, int64_t ranks, spmd::AxesAttr axes);

  llvm::DenseMap<mlir::Attribute, unsigned> columns; ///< by encoding: trailing dimensions of a row
  llvm::DenseMap<mlir::Attribute, BucketLayout> buckets; ///< by encoding of the parts
};

/// Bytes of one element.
int64_t elementBytes(mlir::Type tensor);

} // namespace ptlc::memory

#endif // PTLC_COMPILER_TRANSFORMS_MEMORY_LAYOUTS_H
