//===- MaskRows.h - Keep padding out of folds -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_GRAD_MASKROWS_H
#define PTLC_COMPILER_TRANSFORMS_GRAD_MASKROWS_H

#include "compiler/Transforms/Grad/Pieces.h"

namespace ptlc::grad {

/// In the body of an accumulate whose last pieces are short: makes rows beyond the batch 0 in every
/// operand of every sum over rows.
void maskRows(mlir::Block &body, const PieceDims &dims);

} // namespace ptlc::grad

#endif // PTLC_COMPILER_TRANSFORMS_GRAD_MASKROWS_H
