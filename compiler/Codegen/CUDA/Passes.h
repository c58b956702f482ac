//===- Passes.h - From kernels to NVVM --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_CODEGEN_CUDA_PASSES_H
#define PTLC_COMPILER_CODEGEN_CUDA_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace ptlc::cuda {

#define GEN_PASS_DECL
#include "compiler/Codegen/CUDA/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/Codegen/CUDA/Passes.h.inc"

/// From gpu functions to the NVVM dialect; `--cuda-lower-to-nvvm` of ptl-opt.
void buildNvvmPipeline(mlir::OpPassManager &manager);

/// Registers what is in the way to NVVM, with the interfaces that MLIR's passes ask for.
void registerDialects(mlir::DialectRegistry &registry);

/// Registers the passes here, those of MLIR that the pipeline uses, and the pipeline.
void registerPasses();

} // namespace ptlc::cuda

#endif // PTLC_COMPILER_CODEGEN_CUDA_PASSES_H
