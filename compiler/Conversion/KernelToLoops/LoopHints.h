//===- LoopHints.h - What LLVM is told about loops --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_CONVERSION_KERNELTOLOOPS_LOOPHINTS_H
#define PTLC_COMPILER_CONVERSION_KERNELTOLOOPS_LOOPHINTS_H

#include "mlir/IR/Operation.h"

namespace ptlc::kernel {

/// A part of a loop that adds floating-point numbers up: iterations [begin, end).
struct FoldPart {
  int64_t begin, end;
  int64_t lanes, copies; ///< of a vector, and vectors that are added to at once
};

/// Splits a fold of `size` elements; only the last part has single elements. Two vectors at once
/// hide most of an addition's latency and leave registers for what is added.
llvm::SmallVector<FoldPart> foldPartsOf(int64_t size);

/// Fixes how LLVM vectorises the loop of a part of a fold.
void fixLanes(mlir::Operation *loop, const FoldPart &part);

/// Keeps LLVM from copying the body of an outer loop: on processors with large loop buffers it
/// would do so up to thousands of instructions, which gain nothing and which its scheduler takes
/// quadratic time for.
void disableUnrolling(mlir::Operation *loop);

} // namespace ptlc::kernel

#endif // PTLC_COMPILER_CONVERSION_KERNELTOLOOPS_LOOPHINTS_H
