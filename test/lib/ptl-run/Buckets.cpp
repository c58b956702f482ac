//===- Buckets.cpp - Tensors in buckets, and exact sums -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/lib/ptl-run/Buckets.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ptlc::run {

static constexpr int64_t kDigits = 10, kDigitBits = 32, kLowest = -160;
static constexpr int64_t kInfinite = 10, kInvalid = 11;

Tensor partOfBucket(llvm::ArrayRef<Tensor> tensors, const Type &type, int64_t number) {
  Tensor part(type);
  int64_t begin = number * part.count(), position = 0;
  double *out = part.mutableData();
  for (const Tensor &tensor : tensors) {
    int64_t from = std::max<int64_t>(begin - position, 0);
    int64_t to = std::min(begin + part.count() - position, tensor.count());
    for (int64_t i = from; i < to; ++i)
      out[position + i - begin] = tensor[i];
    position += tensor.count();
  }
  return part;
}

llvm::SmallVector<Tensor> tensorsOfBucket(llvm::ArrayRef<Tensor> parts,
                                          llvm::ArrayRef<Type> types) {
  llvm::SmallVector<Tensor> tensors;
  int64_t position = 0, size = parts[0].count();
  for (const Type &type : types) {
    Tensor tensor(type);
    double *out = tensor.mutableData();
    for (int64_t i = 0; i < tensor.count(); ++i, ++position)
      out[i] = parts[position / size][position % size];
    tensors.push_back(tensor);
  }
  return tensors;
}

Tensor squareSum(llvm::ArrayRef<Tensor> tensors, const Type &type) {
  double sum = 0;
  for (const Tensor &tensor : tensors)
    for (int64_t i = 0; i < tensor.count(); ++i)
      sum += tensor[i] * tensor[i];
  Tensor result(type);
  double *digits = result.mutableData();
  if (std::isnan(sum) || sum >= std::ldexp(1, kLowest + kDigits * kDigitBits)) {
    digits[std::isnan(sum) ? kInvalid : kInfinite] = 1;
    return result;
  }
  for (int64_t i = kDigits; i-- > 0;) {
    double unit = std::ldexp(1, static_cast<int>(kLowest + i * kDigitBits));
    digits[i] = std::floor(sum / unit);
    sum -= digits[i] * unit;
  }
  return result;
}

Tensor rootOf(llvm::ArrayRef<Tensor> sums, const Type &type) {
  double total = 0;
  for (int64_t i = kDigits; i-- > 0;)
    for (const Tensor &sum : sums)
      total += sum[i] * std::ldexp(1, static_cast<int>(kLowest + i * kDigitBits));
  for (const Tensor &sum : sums) {
    if (sum[kInfinite] > 0)
      total += std::numeric_limits<double>::infinity();
    if (sum[kInvalid] > 0)
      total = poison();
  }
  return Tensor(type, std::vector<double>{std::sqrt(total)});
}

} // namespace ptlc::run
