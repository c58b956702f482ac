//===- Layout.cpp - Tensors as matrices with padded rows ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Kernel/Layout.h"

#include "llvm/Support/MathExtras.h"

using namespace ptlc;
using namespace ptlc::kernel;

static constexpr int64_t kLine = 64;

MatrixLayout kernel::foldShape(llvm::ArrayRef<int64_t> shape, unsigned split, int64_t bytes,
                               bool padded) {
  MatrixLayout layout;
  if (bytes == 2)
    bytes = 4;
  for (auto [i, size] : llvm::enumerate(shape))
    (i < split ? layout.rows : layout.cols) *= size;
  layout.stride = std::max<int64_t>(layout.cols, 1);
  if (padded && layout.rows > 1 && layout.cols * bytes >= 4 * kLine)
    layout.stride = (llvm::divideCeil(layout.cols * bytes, kLine) | 1) * kLine / bytes;
  return layout;
}

int64_t kernel::pieceElements(const MatrixLayout &whole, const MatrixLayout &piece) {
  return whole.rows == 1 ? piece.cols : piece.rows * whole.stride;
}

std::optional<llvm::SmallVector<int64_t, 4>> kernel::stridesOf(llvm::ArrayRef<int64_t> shape,
                                                               const MatrixLayout &layout) {
  llvm::SmallVector<int64_t, 4> strides(shape.size());
  size_t i = shape.size();
  int64_t stride = 1;
  for (int64_t cols = 1; i > 0 && cols < layout.cols; --i) {
    strides[i - 1] = stride;
    stride *= shape[i - 1];
    cols *= shape[i - 1];
  }
  if (stride != layout.cols)
    return std::nullopt;
  stride = layout.stride;
  int64_t rows = 1;
  for (; i > 0; --i) {
    strides[i - 1] = stride;
    stride *= shape[i - 1];
    rows *= shape[i - 1];
  }
  if (rows != layout.rows)
    return std::nullopt;
  return strides;
}
