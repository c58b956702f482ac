//===- LowerKernels.h - Loops to LLVM IR ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_CODEGEN_CPU_LOWERKERNELS_H
#define PTLC_COMPILER_CODEGEN_CPU_LOWERKERNELS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include <memory>

namespace ptlc::cpu {

/// Registers what lowering needs to translate a module of the LLVM dialect.
void registerTranslations(mlir::DialectRegistry &registry);

/// Lowers functions made of scf, arith, math and llvm memory operations; null after an error.
std::unique_ptr<llvm::Module> lowerKernels(mlir::ModuleOp module, llvm::LLVMContext &context,
                                           bool debugInfo);

} // namespace ptlc::cpu

#endif // PTLC_COMPILER_CODEGEN_CPU_LOWERKERNELS_H
