//===- DotPlan.h - Contractions as matrix products ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The names of a contraction fall into four groups: batch (both operands and the
// result), M (left and result), N (right and result), K (both, summed). Within a
// group, dimensions that lie behind each other in every tensor act as one. One
// dimension of each of M, N and K goes to the matrix product, all others become
// loops around it. The result needs a unit stride along N; if it has one along M
// instead, the operands change sides.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_ANALYSIS_KERNEL_DOTPLAN_H
#define PTLC_COMPILER_ANALYSIS_KERNEL_DOTPLAN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace ptlc::kernel {

/// A tensor of a contraction.
struct DotOperand {
  llvm::SmallVector<llvm::StringRef, 4> names;
  llvm::SmallVector<int64_t, 4> sizes, strides;
};

/// The fields of ptlrt_gemm.
struct GemmPlan {
  static constexpr unsigned kMaxOuter = 5;
  bool swapped = false; ///< the left factor of the product is the operation's right one
  int64_t m = 1, n = 1, k = 1, lda = 1, ldb = 1, ldc = 1;
  bool transA = false, transB = false;
  struct Outer {
    int64_t size, strideA, strideB, strideC;
  };
  llvm::SmallVector<Outer, 5> outer;
};

/// Plans `result = lhs . rhs`, summed over the names that the result lacks. On failure `error` says
/// why.
std::optional<GemmPlan> planDot(const DotOperand &lhs, const DotOperand &rhs,
                                const DotOperand &result, std::string &error);

} // namespace ptlc::kernel

#endif // PTLC_COMPILER_ANALYSIS_KERNEL_DOTPLAN_H
