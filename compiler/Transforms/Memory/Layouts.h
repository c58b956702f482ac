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
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace ptlc::memory {

class Layouts {
public:
  explicit Layouts(mlir::ModuleOp module);

  kernel::MatrixLayout of(mlir::Type tensor) const;
  /// Bytes of the tensor with its padding.
  int64_t bytes(mlir::Type tensor) const;
  /// True if the reshape only renames memory.
  bool isView(ptl::ReshapeOp op) const;

private:
  void followDot(ptl::DotOp op);
  bool followReshape(ptl::ReshapeOp op);
  void want(mlir::Type tensor, unsigned columns);

  llvm::DenseMap<mlir::Attribute, unsigned> columns; ///< by encoding: trailing dimensions of a row
};

/// Bytes of one element.
int64_t elementBytes(mlir::Type tensor);

} // namespace ptlc::memory

#endif // PTLC_COMPILER_TRANSFORMS_MEMORY_LAYOUTS_H
