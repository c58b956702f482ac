//===- Passes.td - From kernels to NVVM ------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_CODEGEN_CUDA_PASSES_TD
#define PTLC_CODEGEN_CUDA_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerRowKernels : Pass<"cuda-lower-row-kernels", "::mlir::ModuleOp"> {
  let summary = "Adds row kernels as functions of a gpu.module";
  let description = [{
    Adds `gpu.module @kernels` with a function for each distinct rows and flat
    kernel, and those of global norms. What isn't lowered yet (matrix products,
    attention, collectives, some forms of rows) is listed in `rt.left_out` of the
    gpu.module, and remarked on once per kind.

    Before:  %2 = rt.kernel rows(%0, %1) ... {rt.buffers = [...]}
    After:   the same, and
             gpu.module @kernels attributes {rt.left_out = []} {
               gpu.func @kernel_0(%arg0: !llvm.ptr<1> ...) kernel attributes {
                   known_block_size = array<i32: 128, 1, 1>, rt.grid = 64 : i64} { ... }
             }

    Requires: `memory-plan-buffers`. Keeps: the program.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def ApproximateMath : Pass<"cuda-approximate-math", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Replaces f32 functions by instructions of the GPU";
  let description = [{
    Transcendental functions, roots and quotients of f32 become formulas over
    the GPU's approximate instructions (ex2, lg2, rcp, sqrt, sin, cos), each
    within a few units in the last place where training uses it. Without this,
    lowering makes calls of a library of them.

    Before:  %1 = math.exp %0 : f32
    After:   %1 = arith.mulf %0, %log2e : f32
             %2 = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%1) : (f32) -> f32

    Requires: scalars. Keeps: every value, up to rounding; denormal numbers are 0.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect"];
}

#endif // PTLC_CODEGEN_CUDA_PASSES_TD
