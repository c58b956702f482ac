//===- InLast.h - Collectives that start in the last micro-batch -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_RT_INLAST_H
#define PTLC_DIALECTS_RT_INLAST_H

#include "dialects/Rt/Rt.h"

namespace ptlc::rt {

/// Of a started collective that reads results of a loop over micro-batches, a unit: it starts in
/// the last of them, behind lastMaker(), where the loop's sums are what it reads.
inline constexpr llvm::StringLiteral kInLast = "rt.in_last";

/// Returns what stands last in the body of a loop over micro-batches of all that makes the operands
/// of `collective`, or null if these aren't results of one loop, made in its body.
mlir::Operation *lastMaker(mlir::Operation *collective);

} // namespace ptlc::rt

#endif // PTLC_DIALECTS_RT_INLAST_H
