//===- Outline.h - Moving operations into a kernel ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_ANALYSIS_KERNEL_OUTLINE_H
#define PTLC_COMPILER_ANALYSIS_KERNEL_OUTLINE_H

#include "dialects/Rt/Rt.h"

namespace ptlc::kernel {

/// True for operations that are computed again in each kernel rather than stored: constants,
/// indices, broadcasts, and casts from bf16 to f32.
bool isFree(mlir::Operation *op);

/// Moves `ops`, given in block order, into one kernel in the place of the last. Free producers are
/// copied into it; composites of a rows kernel are expanded to primitives. Every user of a result
/// must stand behind the last operation.
rt::KernelOp outline(llvm::ArrayRef<mlir::Operation *> ops, rt::KernelKind kind,
                     llvm::ArrayRef<mlir::StringAttr> iterate);

/// Creates a kernel that copies `value`, in the layout of `type` (same dimensions, any order).
mlir::Value createCopy(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                       mlir::Type type);

/// True if the kernel can add result `number` to what is there: every result but a fold other than
/// a sum, and a scatter that starts from a value.
bool canAccumulate(rt::KernelOp kernel, unsigned number);

/// The first dimension of `type` that has more than one element, along which pieces of it follow
/// each other in memory; the first one if there is none, null for a scalar.
mlir::StringAttr outermostDim(mlir::Type type);

/// The dimensions of `type` without the last `inner` ones.
llvm::ArrayRef<mlir::StringAttr> leadingDims(mlir::Type type, unsigned inner = 1);

} // namespace ptlc::kernel

#endif // PTLC_COMPILER_ANALYSIS_KERNEL_OUTLINE_H
