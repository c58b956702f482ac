//===- InsertCopies.h - One place for each value --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_MEMORY_INSERTCOPIES_H
#define PTLC_COMPILER_TRANSFORMS_MEMORY_INSERTCOPIES_H

#include "compiler/Transforms/Memory/Layouts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ptlc::memory {

/// The attribute of a kernel that says which results are added to what lies in their place when the
/// micro-batch isn't the first.
inline constexpr llvm::StringLiteral kAccumulate = "rt.accumulate";

/// Makes the function's dataflow fit memory: a reshape that moves elements becomes a kernel; what a
/// collective folds in place, what accumulate yields and what a forward function returns get a
/// value of their own. Marks kernels that add to their result.
mlir::LogicalResult insertCopies(mlir::func::FuncOp function, const Layouts &layouts);

/// The value whose memory `value` shares: through reshapes and stop_gradient.
mlir::Value viewRoot(mlir::Value value);

} // namespace ptlc::memory

#endif // PTLC_COMPILER_TRANSFORMS_MEMORY_INSERTCOPIES_H
