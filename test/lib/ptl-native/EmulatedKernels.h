//===- EmulatedKernels.h - GPU kernels as functions of the CPU ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The lowering to gpu functions is executed without a GPU: each function becomes
// one that runs a single thread, barriers and shuffles become calls of the
// emulator (Emulator.h), and the kernel's function of the CPU launches them.
// Everything else of a program stays as it is.
//===----------------------------------------------------------------------===//
#ifndef PTLC_TEST_LIB_PTL_NATIVE_EMULATEDKERNELS_H
#define PTLC_TEST_LIB_PTL_NATIVE_EMULATEDKERNELS_H

#include "compiler/Codegen/Target.h"
#include "llvm/ADT/StringSet.h"

namespace ptlc::native {

struct EmulatedKernels {
  unsigned count = 0;       ///< kernels that are emulated
  llvm::StringSet<> others; ///< what GPUs can't do yet: the CPU's own kernels stand in

  /// Adds a kernel, for TargetOptions::rowKernels.
  mlir::LogicalResult emit(mlir::ModuleOp module, llvm::StringRef name, const kernel::Graph &graph,
                           const kernel::RowPlan &plan, const kernel::Binding &binding,
                           mlir::Location loc);
};

} // namespace ptlc::native

#endif // PTLC_TEST_LIB_PTL_NATIVE_EMULATEDKERNELS_H
