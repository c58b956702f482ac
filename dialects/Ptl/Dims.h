//===- Dims.h - Tensor types with named dimensions --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The one place that knows how names ride on a tensor type: as the encoding
// `#ptl.dims`, present exactly if the rank is at least 1.
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_PTL_DIMS_H
#define PTLC_DIALECTS_PTL_DIMS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include <optional>

namespace ptlc::ptl {

/// Returns the names of the dimensions of a tensor type, none for a scalar.
llvm::ArrayRef<mlir::StringAttr> getDims(mlir::Type type);
inline llvm::ArrayRef<mlir::StringAttr> getDims(mlir::Value value) {
  return getDims(value.getType());
}

/// Returns the tensor type with these sizes and names, in layout order.
mlir::RankedTensorType getTensorType(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                                     llvm::ArrayRef<mlir::StringAttr> dims);
inline mlir::RankedTensorType getScalarType(mlir::Type element) {
  return mlir::RankedTensorType::get({}, element);
}

/// Returns the place of dimension `name` in `type`.
std::optional<unsigned> findDim(mlir::Type type, llvm::StringRef name);
bool hasDim(mlir::Type type, llvm::StringRef name);
inline bool hasDim(mlir::Value value, llvm::StringRef name) {
  return hasDim(value.getType(), name);
}
/// Returns the size of dimension `name`, which `type` has.
int64_t getDimSize(mlir::Type type, llvm::StringRef name);
inline int64_t getDimSize(mlir::Value value, llvm::StringRef name) {
  return getDimSize(value.getType(), name);
}

/// Returns `type` with another element type.
mlir::RankedTensorType withElement(mlir::Type type, mlir::Type element);
/// Returns `type` without the dimensions in `names`, the others in their order.
mlir::RankedTensorType withoutDims(mlir::Type type, llvm::ArrayRef<mlir::StringAttr> names);
/// Returns `type` with dimension `from` called `to` and of size `size`.
mlir::RankedTensorType replaceDim(mlir::Type type, mlir::StringAttr from, mlir::StringAttr to,
                                  int64_t size);

mlir::Type elementType(mlir::Value value);
bool isFloatTensor(mlir::Type type);

/// What `Ptl_Tensor` accepts: see PtlDialect.td.
bool isNamedTensor(mlir::Type type);

/// Returns "[batch, seq]", for diagnostics.
std::string printDims(llvm::ArrayRef<mlir::StringAttr> names);

} // namespace ptlc::ptl

#endif // PTLC_DIALECTS_PTL_DIMS_H
