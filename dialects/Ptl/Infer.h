//===- Infer.h - Result types of operations ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Builders and verifiers share these, so that what one builds the other accepts.
// Operands are taken to be valid, except where a function says otherwise.
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_PTL_INFER_H
#define PTLC_DIALECTS_PTL_INFER_H

#include "dialects/Ptl/Ptl.h"

namespace ptlc::ptl {

/// Returns the names of a, then those of b that a lacks, without those in `without`.
llvm::SmallVector<mlir::StringAttr> unionDims(llvm::ArrayRef<mlir::StringAttr> a,
                                              llvm::ArrayRef<mlir::StringAttr> b,
                                              llvm::ArrayRef<mlir::StringAttr> without = {});

/// Returns the type with dimensions `dims`, whose sizes are those that any of `sources` has.
mlir::RankedTensorType collectType(llvm::ArrayRef<mlir::StringAttr> dims, mlir::ValueRange sources,
                                   mlir::Type element);

/// Returns the type of a reshape; `sizes` are those of all `to`, arrow by arrow. `from` are
/// dimensions of x.
mlir::RankedTensorType inferReshape(mlir::Type x, llvm::ArrayRef<ArrowAttr> arrows,
                                    llvm::ArrayRef<int64_t> sizes);

/// Returns the type of table[dim : ids].
mlir::RankedTensorType inferGather(mlir::Type table, mlir::Type ids, mlir::StringAttr dim);

} // namespace ptlc::ptl

#endif // PTLC_DIALECTS_PTL_INFER_H
