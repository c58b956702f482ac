//===- Buckets.h - Tensors in buckets, and exact sums -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_TEST_LIB_PTL_RUN_BUCKETS_H
#define PTLC_TEST_LIB_PTL_RUN_BUCKETS_H

#include "test/lib/ptl-run/Tensor.h"

namespace ptlc::run {

/// Part `number` of the concatenation of tensors, of the size of `type`; zeros beyond the end.
Tensor partOfBucket(llvm::ArrayRef<Tensor> tensors, const Type &type, int64_t number);
/// The tensors of `types` that parts of a bucket, in order, consist of.
llvm::SmallVector<Tensor> tensorsOfBucket(llvm::ArrayRef<Tensor> parts, llvm::ArrayRef<Type> types);

/// The sum of the squares of all elements as digits of a fixed-point number; see spmd.square_sum.
Tensor squareSum(llvm::ArrayRef<Tensor> tensors, const Type &type);
/// The root of the sum of such numbers.
Tensor rootOf(llvm::ArrayRef<Tensor> sums, const Type &type);

} // namespace ptlc::run

#endif // PTLC_TEST_LIB_PTL_RUN_BUCKETS_H
