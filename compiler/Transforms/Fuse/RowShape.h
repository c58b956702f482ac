//===- RowShape.h - Which dimensions of an operation number rows ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_FUSE_ROWSHAPE_H
#define PTLC_COMPILER_TRANSFORMS_FUSE_ROWSHAPE_H

#include "dialects/Ptl/Ptl.h"

namespace ptlc::fuse {

/// The dimensions to iterate over if `op` is a rows kernel of its own.
llvm::SmallVector<mlir::StringAttr> iterateAlone(mlir::Operation *op);

/// True if the contraction should be a matrix product; `error` says why it can't.
bool isMatrixProduct(ptl::DotOp op, std::string &error);

/// True for operations that stay as they are between kernels.
bool staysOutside(mlir::Operation *op);

/// True if the runtime's attention computes the operation.
bool isRuntimeAttention(mlir::Operation *op);

} // namespace ptlc::fuse

#endif // PTLC_COMPILER_TRANSFORMS_FUSE_ROWSHAPE_H
