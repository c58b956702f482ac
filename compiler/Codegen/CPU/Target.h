//===- Target.h - The machine that a program is compiled for --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_CODEGEN_CPU_TARGET_H
#define PTLC_COMPILER_CODEGEN_CPU_TARGET_H

#include "compiler/Codegen/Target.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"
#include <memory>

namespace ptlc::cpu {

/// Options with an empty name replaced by this machine's processor and features.
codegen::TargetOptions resolveNative(codegen::TargetOptions options);

/// Fails for a processor that LLVM doesn't know.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const codegen::TargetOptions &options);

/// Runs LLVM's pipeline over a module whose functions are for `machine`.
void optimize(llvm::Module &module, llvm::TargetMachine &machine, unsigned level);

/// Writes the object file of an optimized module.
llvm::Error emitObject(llvm::Module &module, llvm::TargetMachine &machine,
                       llvm::SmallVectorImpl<char> &object);

} // namespace ptlc::cpu

#endif // PTLC_COMPILER_CODEGEN_CPU_TARGET_H
