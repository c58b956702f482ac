//===- KernelToGpu.h - Row kernels as threads of a GPU --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Turns the plan of a row kernel into functions of a gpu.module:
//   @NAME(buffer pointers..., run-time scalars (i64)..., [workspace])
//   @NAME_sum, with the same parameters, if the kernel has sums over rows
// which run in this order. A function carries `known_block_size`, `rt.grid` (the
// number of blocks) and `rt.workspace` (bytes of the workspace).
//
// A team of threads (see Mapping.h) treats a row at a time; each thread has
// vectors of four elements, so that a warp moves 512 contiguous bytes. Folds go
// over a thread's elements, then by shuffles over a warp, then through shared
// memory, always in the same order. Sums over rows are kept per team; @NAME_sum
// adds the teams' parts in order. No atomics: equal inputs give equal bits.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_CONVERSION_KERNELTOGPU_KERNELTOGPU_H
#define PTLC_COMPILER_CONVERSION_KERNELTOGPU_KERNELTOGPU_H

#include "compiler/Analysis/Kernel/Binding.h"
#include "compiler/Analysis/Kernel/RowPlan.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace ptlc::kernel {

/// Emits the functions into `module`. Returns what GPUs can't do yet, or an empty text. The
/// workspace must begin at a multiple of 16 bytes.
std::string emitGpuKernel(mlir::gpu::GPUModuleOp module, llvm::StringRef name, const Graph &graph,
                          const RowPlan &plan, const Binding &binding, mlir::Location loc);

} // namespace ptlc::kernel

#endif // PTLC_COMPILER_CONVERSION_KERNELTOGPU_KERNELTOGPU_H
