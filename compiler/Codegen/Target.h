//===- Target.h - From the memory stage to an object file ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The interface of the back ends to the driver. A module of the memory stage
// becomes one object file that exports one symbol (see runtime/doc/ABI.md).
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_CODEGEN_TARGET_H
#define PTLC_COMPILER_CODEGEN_TARGET_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include <functional>
#include <string>

namespace ptlc::kernel {
struct Binding;
struct Graph;
class RowPlan;
} // namespace ptlc::kernel

namespace ptlc::codegen {

/// Adds a row kernel to a module, as a ptlrt_kernel_fn of the name.
using RowKernelEmitter = std::function<mlir::LogicalResult(
    mlir::ModuleOp module, llvm::StringRef name, const kernel::Graph &graph,
    const kernel::RowPlan &plan, const kernel::Binding &binding, mlir::Location loc)>;

struct TargetOptions {
  std::string cpu;      ///< as `--target-cpu`; empty: this machine
  std::string features; ///< "+avx2,+fma"; filled in for this machine
  unsigned optimization = 3;
  bool debugInfo = true;                ///< line tables that name the .ptl lines
  std::string symbol = "ptlrt_program"; ///< what the object exports
  RowKernelEmitter rowKernels; ///< replaces the CPU's own, to execute those of another target
};

/// Compiles a module of the memory stage. Errors are reported at the operation's location.
mlir::LogicalResult compileToObject(mlir::ModuleOp module, const TargetOptions &options,
                                    llvm::SmallVectorImpl<char> &object);

/// The LLVM IR of stage functions and kernels, before optimization, as text.
mlir::LogicalResult emitLLVM(mlir::ModuleOp module, const TargetOptions &options,
                             std::string &text);

/// PTX of the gpu.modules of a module of the NVVM stage, as text, for `architecture` ("sm_80"; see
/// Codegen/CUDA/Architectures.h). Comments at the beginning say how each kernel is launched, and
/// what is left out.
mlir::LogicalResult emitPtx(mlir::ModuleOp module, llvm::StringRef architecture, std::string &text);

/// The metadata of the program (JSON, see runtime/doc/ABI.md), built from the module's attributes.
std::string emitMetadata(mlir::ModuleOp module, const TargetOptions &options = {});

} // namespace ptlc::codegen

#endif // PTLC_COMPILER_CODEGEN_TARGET_H
