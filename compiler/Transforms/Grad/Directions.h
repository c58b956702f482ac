//===- Directions.h - What Muon and LAMB do with whole tensors --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_GRAD_DIRECTIONS_H
#define PTLC_COMPILER_TRANSFORMS_GRAD_DIRECTIONS_H

#include "dialects/Ptl/Emitter.h"

namespace ptlc::grad {

/// Settings of Muon's Newton-Schulz iteration.
struct NewtonSchulz {
  double a, b, c; ///< x becomes a x + (b (x x^T) + c (x x^T)^2) x
  double eps;     ///< least norm that x is divided by
  int64_t steps;
};

/// The matrix [r, c] with the singular vectors of `x` and singular values near 1, in f32.
mlir::Value orthogonalize(ptl::Emitter &e, mlir::Value x, const NewtonSchulz &settings);

/// LAMB's trust ratio |weight| / |direction|, a scalar; 1 if either is 0.
mlir::Value trustRatio(ptl::Emitter &e, mlir::Value weight, mlir::Value direction);

} // namespace ptlc::grad

#endif // PTLC_COMPILER_TRANSFORMS_GRAD_DIRECTIONS_H
