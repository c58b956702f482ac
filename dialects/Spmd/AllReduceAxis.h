//===- AllReduceAxis.h - All-reduces along an axis --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_SPMD_ALLREDUCEAXIS_H
#define PTLC_DIALECTS_SPMD_ALLREDUCEAXIS_H

#include "dialects/Spmd/Spmd.h"

namespace ptlc::spmd {

/// True if it is an all-reduce whose groups lie along `axis`, perhaps among others; never for null.
inline bool isAllReduceOver(mlir::Operation *op, mlir::StringAttr axis) {
  auto reduce = mlir::dyn_cast<AllReduceOp>(op);
  return reduce && axis && llvm::is_contained(reduce.getAxes().getNames(), axis);
}

} // namespace ptlc::spmd

#endif // PTLC_DIALECTS_SPMD_ALLREDUCEAXIS_H
