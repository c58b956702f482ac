//===- Tensor.h - Named tensors of the reference interpreter --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every element, of whatever kind, is kept as a double: integers of the
// language are exact in it, and a NaN can mark an element of *any* kind as
// junk. Junk is what the padding of uneven shards holds; it passes through all
// arithmetic, so that a program which folds padding without masking it ends in
// a NaN instead of in a number that is nearly right.
//
// Operations compute in double. The interpreter rounds each result to its
// element kind afterwards (`roundToElement`), unless it runs in double
// altogether.
//===----------------------------------------------------------------------===//
#ifndef PTLC_TEST_LIB_PTL_RUN_TENSOR_H
#define PTLC_TEST_LIB_PTL_RUN_TENSOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ptlc::run {

enum class Element : uint8_t { F32, F64, I32, I64, I1, BF16 };

/// Names are interned elsewhere (attributes, literals) and outlive every tensor.
using Name = llvm::StringRef;
using Names = llvm::SmallVector<Name, 4>;
using Sizes = llvm::SmallVector<int64_t, 4>;

/// Element kind and named dimensions, major first. Names may be absent (data from files).
struct Type {
  Element element = Element::F32;
  Names names;
  Sizes sizes;

  int64_t count() const;
  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }
  /// Position of `name`, or -1.
  int64_t find(Name name) const;
  bool has(Name name) const { return find(name) >= 0; }
  int64_t size(Name name) const { return sizes[find(name)]; }
  /// Row-major strides, in elements.
  Sizes strides() const;
  /// For each of `iteration` the stride of that dimension here, 0 where it is absent.
  Sizes stridesAlong(llvm::ArrayRef<Name> iteration) const;
  /// "[batch=2, seq=4]"
  std::string str() const;
};

/// A tensor in row-major order. Copies share their elements; `mutableData` is for the maker only.
class Tensor {
public:
  Tensor() = default;
  explicit Tensor(Type type, double fill = 0);
  Tensor(Type type, std::vector<double> values);

  const Type &type() const { return type_; }
  int64_t count() const { return static_cast<int64_t>(data_->size()); }
  const double *data() const { return data_->data(); }
  double *mutableData();
  double operator[](int64_t i) const { return (*data_)[i]; }
  /// The only element of a scalar.
  double scalar() const { return (*data_)[0]; }
  /// The same elements under another type of equal count.
  Tensor as(Type type) const;

private:
  Type type_;
  std::shared_ptr<std::vector<double>> data_;
};

/// The mark of padding; see the file's comment.
double poison();

bool isFloat(Element element);

/// Rounds to f32 or bf16 (unless `f64`), wraps i32, makes i1 0 or 1. NaN stays.
void roundToElement(Tensor &tensor, bool f64);

/// `value` with nine digits.
std::string number(double value);

llvm::Error makeError(const llvm::Twine &message);

/// Visits the indices of `sizes` in row-major order and calls `visit(offsets)`, with one offset per
/// operand, for operands whose strides along the dimensions are given.
template <size_t N, typename Visit>
void walk(llvm::ArrayRef<int64_t> sizes, const std::array<Sizes, N> &strides, Visit visit) {
  std::array<int64_t, N> offsets{};
  int64_t rank = static_cast<int64_t>(sizes.size());
  for (int64_t size : sizes)
    if (size == 0)
      return;
  if (rank == 0)
    return visit(offsets);
  Sizes index(rank, 0);
  int64_t inner = sizes[rank - 1];
  while (true) {
    std::array<int64_t, N> at = offsets;
    for (int64_t i = 0; i < inner; ++i) {
      visit(at);
      for (size_t n = 0; n < N; ++n)
        at[n] += strides[n][rank - 1];
    }
    int64_t dim = rank - 2;
    for (; dim >= 0; --dim) {
      for (size_t n = 0; n < N; ++n)
        offsets[n] += strides[n][dim];
      if (++index[dim] < sizes[dim])
        break;
      for (size_t n = 0; n < N; ++n)
        offsets[n] -= strides[n][dim] * sizes[dim];
      index[dim] = 0;
    }
    if (dim < 0)
      return;
  }
}

} // namespace ptlc::run

#endif // PTLC_TEST_LIB_PTL_RUN_TENSOR_H
