//===- Architectures.h - GPUs that PTX is made for ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_CODEGEN_CUDA_ARCHITECTURES_H
#define PTLC_COMPILER_CODEGEN_CUDA_ARCHITECTURES_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace ptlc::cuda {

/// What `--target-arch` takes, as in "sm_80".
llvm::SmallVector<llvm::StringRef> architectures();

} // namespace ptlc::cuda

#endif // PTLC_COMPILER_CODEGEN_CUDA_ARCHITECTURES_H
