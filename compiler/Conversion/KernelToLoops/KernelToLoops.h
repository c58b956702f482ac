//===- KernelToLoops.h - Row kernels as loops over memory -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Turns the plan of a row kernel into two functions:
//   @NAME.rows(begin, end, buffer pointers..., run-time scalars...)  the loops
//   @NAME(begin, end, buffers*, scalars*)                            ptlrt_kernel_fn
// The first one's pointers are `noalias`, so that LLVM vectorises the innermost
// loops without checks; hence buffers that coincide must share a slot.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_CONVERSION_KERNELTOLOOPS_KERNELTOLOOPS_H
#define PTLC_COMPILER_CONVERSION_KERNELTOLOOPS_KERNELTOLOOPS_H

#include "compiler/Analysis/Kernel/Binding.h"
#include "compiler/Analysis/Kernel/RowPlan.h"
#include "mlir/IR/BuiltinOps.h"

namespace ptlc::kernel {

/// The attribute that loops of a kernel, and the branches that they become, may have for LLVM: an
/// `#llvm.loop_annotation`.
inline constexpr llvm::StringLiteral kLoopAnnotation = "llvm.loop_annotation";

/// Emits both functions into `module`.
void emitRowKernel(mlir::ModuleOp module, llvm::StringRef name, const Graph &graph,
                   const RowPlan &plan, const Binding &binding, mlir::Location loc);

} // namespace ptlc::kernel

#endif // PTLC_COMPILER_CONVERSION_KERNELTOLOOPS_KERNELTOLOOPS_H
