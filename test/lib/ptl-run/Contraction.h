//===- Contraction.h - Dot, reductions, broadcast -------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLC_TEST_LIB_PTL_RUN_CONTRACTION_H
#define PTLC_TEST_LIB_PTL_RUN_CONTRACTION_H

#include "test/lib/ptl-run/Tensor.h"

namespace ptlc::run {

/// How sums are accumulated: in double, or rounded to f32 after every addition.
enum class Accumulate : uint8_t { F64, F32 };

/// Sum over the names `over` (in a, b or both) of the product of a and b, aligned by name. Sums run
/// over `over` in row-major order of the names as listed.
llvm::Expected<Tensor> dot(const Tensor &a, const Tensor &b, llvm::ArrayRef<Name> over,
                           const Type &type, Accumulate accumulate);

enum class Fold : uint8_t { Sum, Max, Min };

/// Junk in what is folded makes the result junk, in max and min, too.
llvm::Expected<Tensor> reduce(Fold fold, const Tensor &x, llvm::ArrayRef<Name> over,
                              const Type &type, Accumulate accumulate);

/// Combines two elements; NaN wins.
double combine(Fold fold, double a, double b);

/// `x` with the names of `type`, which contain its own, in the order of `type`.
llvm::Expected<Tensor> broadcast(const Tensor &x, const Type &type);

} // namespace ptlc::run

#endif // PTLC_TEST_LIB_PTL_RUN_CONTRACTION_H
