//===- Contraction.cpp - Dot, reductions, broadcast -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A contraction is packed into three levels, [batch, rows, inner] times
// [batch, inner, columns], by names alone: that keeps it a plain triple loop
// whose innermost loop is contiguous. The order of each sum is the row-major
// order of the summed names, whatever the operands' layouts.
//===----------------------------------------------------------------------===//
#include "test/lib/ptl-run/Contraction.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include <cmath>

namespace ptlc::run {

llvm::Expected<Tensor> broadcast(const Tensor &x, const Type &type) {
  for (size_t i = 0; i < x.type().names.size(); ++i)
    if (!type.has(x.type().names[i]) || type.size(x.type().names[i]) != x.type().sizes[i])
      return makeError("can't broadcast " + x.type().str() + " to " + type.str());
  Tensor result(type);
  double *out = result.mutableData();
  int64_t at = 0;
  walk<1>(type.sizes, {x.type().stridesAlong(type.names)},
          [&](const std::array<int64_t, 1> &offset) { out[at++] = x[offset[0]]; });
  return result;
}

/// `x` in the order of `names`, those that it lacks repeated.
static std::vector<double> pack(const Tensor &x, llvm::ArrayRef<Name> names,
                                llvm::ArrayRef<int64_t> sizes) {
  std::vector<double> packed;
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  packed.reserve(count);
  walk<1>(sizes, {x.type().stridesAlong(names)},
          [&](const std::array<int64_t, 1> &offset) { packed.push_back(x[offset[0]]); });
  return packed;
}

namespace {
/// Names with their sizes, and the product of these.
struct Group {
  Names names;
  Sizes sizes;
  int64_t count = 1;

  void add(Name name, int64_t size) {
    names.push_back(name);
    sizes.push_back(size);
    count *= size;
  }
};

/// The packed form of a contraction.
struct Packed {
  Group batch, rows, columns, inner;
};
} // namespace

static Group join(const Group &a, const Group &b, const Group &c) {
  Group all;
  for (const Group *group : {&a, &b, &c})
    for (size_t i = 0; i < group->names.size(); ++i)
      all.add(group->names[i], group->sizes[i]);
  return all;
}

static llvm::Expected<Packed> classify(const Type &a, const Type &b, llvm::ArrayRef<Name> over,
                                       const Type &type) {
  Packed packed;
  for (Name name : over) {
    if (!a.has(name) && !b.has(name))
      return makeError("neither operand of dot has '" + name + "'");
    packed.inner.add(name, a.has(name) ? a.size(name) : b.size(name));
  }
  for (size_t i = 0; i < type.names.size(); ++i) {
    Name name = type.names[i];
    bool inA = a.has(name), inB = b.has(name);
    if (!inA && !inB)
      return makeError("no operand of dot has the result's '" + name + "'");
    Group &group = inA && inB ? packed.batch : inA ? packed.rows : packed.columns;
    group.add(name, type.sizes[i]);
  }
  for (const Type *operand : {&a, &b})
    for (size_t i = 0; i < operand->names.size(); ++i) {
      Name name = operand->names[i];
      bool summed = llvm::is_contained(over, name);
      if (summed == type.has(name))
        return makeError("'" + name + "' must be either summed or in the result of dot");
      const Type &other = operand == &a ? b : a;
      int64_t size = type.has(name)    ? type.size(name)
                     : other.has(name) ? other.size(name)
                                       : operand->sizes[i];
      if (size != operand->sizes[i])
        return makeError("sizes of '" + name + "' differ in dot: " +
                         llvm::Twine(operand->sizes[i]) + " and " + llvm::Twine(size));
    }
  return packed;
}

/// out[r, c] += sum over k of a[r, k] * b[k, c].
static void multiply(const double *a, const double *b, double *out, int64_t rows, int64_t inner,
                     int64_t columns, Accumulate accumulate) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t k = 0; k < inner; ++k) {
      double factor = a[r * inner + k];
      const double *row = b + k * columns;
      double *sum = out + r * columns;
      if (accumulate == Accumulate::F64) {
        for (int64_t c = 0; c < columns; ++c)
          sum[c] += factor * row[c];
        continue;
      }
      for (int64_t c = 0; c < columns; ++c)
        sum[c] = static_cast<float>(sum[c] + static_cast<float>(factor * row[c]));
    }
}

llvm::Expected<Tensor> dot(const Tensor &a, const Tensor &b, llvm::ArrayRef<Name> over,
                           const Type &type, Accumulate accumulate) {
  llvm::Expected<Packed> form = classify(a.type(), b.type(), over, type);
  if (!form)
    return form.takeError();
  Group left = join(form->batch, form->rows, form->inner);
  Group right = join(form->batch, form->inner, form->columns);
  Group result = join(form->batch, form->rows, form->columns);
  std::vector<double> packedA = pack(a, left.names, left.sizes);
  std::vector<double> packedB = pack(b, right.names, right.sizes);
  Type packedType{type.element, result.names, result.sizes};
  Tensor sums(packedType);
  int64_t rows = form->rows.count, inner = form->inner.count, columns = form->columns.count;
  double *out = sums.mutableData();
  for (int64_t i = 0; i < form->batch.count; ++i)
    multiply(packedA.data() + i * rows * inner, packedB.data() + i * inner * columns,
             out + i * rows * columns, rows, inner, columns, accumulate);
  if (result.names == type.names)
    return sums;
  return broadcast(sums, type);
}

double combine(Fold fold, double a, double b) {
  if (fold == Fold::Sum)
    return a + b;
  if (std::isnan(a) || std::isnan(b))
    return poison();
  return fold == Fold::Max ? std::fmax(a, b) : std::fmin(a, b);
}

llvm::Expected<Tensor> reduce(Fold fold, const Tensor &x, llvm::ArrayRef<Name> over,
                              const Type &type, Accumulate accumulate) {
  Group all;
  for (size_t i = 0; i < type.names.size(); ++i)
    all.add(type.names[i], type.sizes[i]);
  int64_t folded = 1;
  for (Name name : over) {
    if (!x.type().has(name))
      return makeError(x.type().str() + " has no '" + name + "' to reduce over");
    all.add(name, x.type().size(name));
    folded *= x.type().size(name);
  }
  if (all.count != x.count())
    return makeError("can't reduce " + x.type().str() + " to " + type.str());
  std::vector<double> packed = pack(x, all.names, all.sizes);
  double start = fold == Fold::Sum ? 0 : fold == Fold::Max ? -INFINITY : INFINITY;
  Tensor result(type, start);
  double *out = result.mutableData();
  for (int64_t i = 0; i < result.count(); ++i)
    for (int64_t k = 0; k < folded; ++k) {
      out[i] = combine(fold, out[i], packed[i * folded + k]);
      if (accumulate == Accumulate::F32 && isFloat(type.element))
        out[i] = static_cast<float>(out[i]);
    }
  return result;
}

} // namespace ptlc::run
