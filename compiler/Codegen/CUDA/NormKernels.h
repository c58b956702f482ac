//===- NormKernels.h - Global norms as row kernels ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_CODEGEN_CUDA_NORMKERNELS_H
#define PTLC_COMPILER_CODEGEN_CUDA_NORMKERNELS_H

#include "compiler/Codegen/RowKernels.h"
#include "dialects/Ptl/Ptl.h"

namespace ptlc::cuda {

/// The kernels of a global norm, in order: the sum of squares of each operand, into memory behind
/// the arena (16 bytes each), and the root of their sum.
mlir::FailureOr<std::vector<codegen::KernelCall>>
normKernels(ptl::GlobalNormOp op, const codegen::Places &places, codegen::RowKernels &kernels);

} // namespace ptlc::cuda

#endif // PTLC_COMPILER_CODEGEN_CUDA_NORMKERNELS_H
