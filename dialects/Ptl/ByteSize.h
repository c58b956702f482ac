//===- ByteSize.h - Bytes of tensors ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_PTL_BYTESIZE_H
#define PTLC_DIALECTS_PTL_BYTESIZE_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeRange.h"
#include "llvm/Support/MathExtras.h"

namespace ptlc::ptl {

/// Bytes of a tensor's elements, without padding of rows; 0 of any other type.
inline int64_t getByteSize(mlir::Type type) {
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  return tensor ? tensor.getNumElements() *
                      static_cast<int64_t>(llvm::divideCeil(tensor.getElementTypeBitWidth(), 8))
                : 0;
}

/// Bytes of several tensors.
inline int64_t getByteSize(mlir::TypeRange types) {
  int64_t bytes = 0;
  for (mlir::Type type : types)
    bytes += getByteSize(type);
  return bytes;
}

} // namespace ptlc::ptl

#endif // PTLC_DIALECTS_PTL_BYTESIZE_H
