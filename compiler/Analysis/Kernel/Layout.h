//===- Layout.h - Tensors as matrices with padded rows --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A tensor lies in memory row-major, folded to a matrix: its leading dimensions
// number the rows, the trailing ones the columns. Rows start every `stride`
// elements.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_ANALYSIS_KERNEL_LAYOUT_H
#define PTLC_COMPILER_ANALYSIS_KERNEL_LAYOUT_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"

namespace ptlc::kernel {

struct MatrixLayout {
  int64_t rows = 1, cols = 1, stride = 1; ///< elements
  bool operator==(const MatrixLayout &) const = default;
  int64_t elements() const { return rows * stride; }
};

/// Folds `shape` before dimension `split`; pads rows of `bytes`-sized elements where `padded`: the
/// stride of rows of 256 bytes or more is an odd number of 64-byte lines, so that the rows of a
/// column fall into different cache sets. Elements of 2 bytes lie as those of 4 do: a weight, its
/// gradient and its states have the same strides, whatever their types.
MatrixLayout foldShape(llvm::ArrayRef<int64_t> shape, unsigned split, int64_t bytes, bool padded);

/// Elements from one piece of a tensor along its outermost dimension to the next. A piece of one
/// row has no padding of its own, but the whole's rows do.
int64_t pieceElements(const MatrixLayout &whole, const MatrixLayout &piece);

/// Elements between neighbours along each dimension; none if `layout` isn't a fold of `shape`.
std::optional<llvm::SmallVector<int64_t, 4>> stridesOf(llvm::ArrayRef<int64_t> shape,
                                                       const MatrixLayout &layout);

} // namespace ptlc::kernel

#endif // PTLC_COMPILER_ANALYSIS_KERNEL_LAYOUT_H
