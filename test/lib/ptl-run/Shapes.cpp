//===- Shapes.cpp - Reshape, concat, slice, pad, generators ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/lib/ptl-run/Shapes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include <cmath>

namespace ptlc::run {

namespace {
/// What one arrow contributes to the place of an element: `toStrides` number the group's elements
/// in the result's walk, `offsets` say where each lies in the operand.
struct Regrouping {
  Sizes toStrides;
  std::vector<int64_t> offsets;
};
} // namespace

static llvm::Expected<Regrouping> regroup(const Arrow &arrow, const Type &x, const Type &type) {
  Sizes fromSizes, fromStrides, own = x.strides();
  for (Name name : arrow.from) {
    if (!x.has(name))
      return makeError("reshape: " + x.str() + " has no '" + name + "'");
    fromSizes.push_back(x.size(name));
    fromStrides.push_back(own[x.find(name)]);
  }
  Regrouping result;
  result.toStrides.assign(type.names.size(), 0);
  int64_t count = 1;
  for (Name name : llvm::reverse(arrow.to)) {
    if (!type.has(name))
      return makeError("reshape: " + type.str() + " has no '" + name + "'");
    result.toStrides[type.find(name)] = count;
    count *= type.size(name);
  }
  walk<1>(fromSizes, {fromStrides},
          [&](const std::array<int64_t, 1> &offset) { result.offsets.push_back(offset[0]); });
  if (static_cast<int64_t>(result.offsets.size()) != count)
    return makeError("reshape: sizes differ, " + llvm::Twine(result.offsets.size()) + " and " +
                     llvm::Twine(count));
  return result;
}

llvm::Expected<Tensor> reshape(const Tensor &x, llvm::ArrayRef<Arrow> arrows, const Type &type) {
  std::vector<Regrouping> groups;
  Names gone, made;
  for (const Arrow &arrow : arrows) {
    llvm::Expected<Regrouping> group = regroup(arrow, x.type(), type);
    if (!group)
      return group.takeError();
    groups.push_back(std::move(*group));
    gone.append(arrow.from.begin(), arrow.from.end());
    made.append(arrow.to.begin(), arrow.to.end());
  }
  Sizes passing = x.type().stridesAlong(type.names);
  for (size_t i = 0; i < type.names.size(); ++i)
    if (llvm::is_contained(made, type.names[i]))
      passing[i] = 0;
  if (x.count() != type.count())
    return makeError("reshape: " + x.type().str() + " and " + type.str() + " differ in size");
  std::vector<int64_t> places(type.count(), 0);
  int64_t at = 0;
  walk<1>(type.sizes, {passing},
          [&](const std::array<int64_t, 1> &offset) { places[at++] = offset[0]; });
  for (const Regrouping &group : groups) {
    at = 0;
    walk<1>(type.sizes, {group.toStrides}, [&](const std::array<int64_t, 1> &element) {
      places[at++] += group.offsets[element[0]];
    });
  }
  Tensor result(type);
  double *out = result.mutableData();
  for (int64_t i = 0; i < result.count(); ++i)
    out[i] = x[places[i]];
  return result;
}

/// Copies `x` into `out` of `type`, with its dimension `from` lying at `offset` along `to`.
static llvm::Error place(const Tensor &x, Name from, Name to, int64_t offset, const Type &type,
                         double *out) {
  int64_t dim = type.find(to);
  if (dim < 0 || !x.type().has(from))
    return makeError("can't place " + x.type().str() + " in " + type.str());
  Names names = x.type().names;
  names[x.type().find(from)] = to;
  for (Name name : names)
    if (!type.has(name))
      return makeError("can't place " + x.type().str() + " in " + type.str());
  int64_t base = offset * type.strides()[dim], at = 0;
  walk<1>(x.type().sizes, {type.stridesAlong(names)},
          [&](const std::array<int64_t, 1> &where) { out[base + where[0]] = x[at++]; });
  return llvm::Error::success();
}

llvm::Expected<Tensor> concat(llvm::ArrayRef<Tensor> pieces, llvm::ArrayRef<Name> from, Name to,
                              const Type &type) {
  Tensor result(type);
  int64_t offset = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (llvm::Error error = place(pieces[i], from[i], to, offset, type, result.mutableData()))
      return std::move(error);
    offset += pieces[i].type().size(from[i]);
  }
  if (offset != type.size(to))
    return makeError("concat: the pieces have " + llvm::Twine(offset) + " elements along '" + to +
                     "', the result " + llvm::Twine(type.size(to)));
  return result;
}

llvm::Expected<Tensor> slice(const Tensor &x, Name from, Name to, int64_t offset,
                             const Type &type) {
  if (!x.type().has(from) || !type.has(to) || offset < 0 ||
      offset + type.size(to) > x.type().size(from))
    return makeError("can't slice " + type.str() + " from " + x.type().str() + " at " +
                     llvm::Twine(offset));
  Tensor result(type);
  double *out = result.mutableData();
  Names names = type.names;
  names[type.find(to)] = from;
  int64_t base = offset * x.type().strides()[x.type().find(from)], at = 0;
  walk<1>(type.sizes, {x.type().stridesAlong(names)},
          [&](const std::array<int64_t, 1> &where) { out[at++] = x[base + where[0]]; });
  return result;
}

llvm::Expected<Tensor> pad(const Tensor &x, Name from, Name to, int64_t before, double value,
                           const Type &type) {
  Tensor result(type, value);
  if (!x.type().has(from) || !type.has(to) || before < 0 ||
      before + x.type().size(from) > type.size(to))
    return makeError("can't pad " + x.type().str() + " to " + type.str());
  if (llvm::Error error = place(x, from, to, before, type, result.mutableData()))
    return std::move(error);
  return result;
}

Tensor iota(const Type &type, llvm::ArrayRef<Window> windows) {
  Tensor result(type);
  double *out = result.mutableData();
  Window window = windowOf(type.names[0], type.sizes[0], windows);
  for (int64_t i = 0; i < result.count(); ++i)
    out[i] = i < window.valid ? static_cast<double>(window.start + i) : poison();
  return result;
}

Tensor random(const RandomStream &stream, Distribution distribution, const Type &type,
              llvm::ArrayRef<Window> windows) {
  Type global = type;
  Sizes starts;
  for (size_t i = 0; i < type.names.size(); ++i) {
    Window window = windowOf(type.names[i], type.sizes[i], windows);
    global.sizes[i] = window.global;
    starts.push_back(window.start);
  }
  Sizes strides = global.strides();
  int64_t base = 0, at = 0;
  for (size_t i = 0; i < starts.size(); ++i)
    base += starts[i] * strides[i];
  Tensor result(type);
  double *out = result.mutableData();
  walk<1>(type.sizes, {strides}, [&](const std::array<int64_t, 1> &offset) {
    uint64_t index = base + offset[0];
    out[at++] = distribution == Distribution::Uniform  ? stream.uniform(index)
                : distribution == Distribution::Normal ? stream.normal(index)
                                                       : stream.truncatedNormal(index);
  });
  return mask(result, windows, poison());
}

Tensor mask(const Tensor &x, llvm::ArrayRef<Window> windows, double fill) {
  Tensor result = x;
  const Type &type = x.type();
  Sizes strides = type.strides();
  double *out = result.mutableData();
  for (const Window &window : windows) {
    int64_t dim = type.find(window.dim);
    if (dim < 0)
      continue;
    int64_t stride = strides[dim], size = type.sizes[dim];
    for (int64_t i = 0; i < x.count(); ++i)
      if (i / stride % size >= window.valid)
        out[i] = fill;
  }
  return result;
}

Tensor block(const Tensor &x, Name dim, int64_t start, int64_t size) {
  Type type = x.type();
  int64_t place = type.find(dim), whole = type.sizes[place];
  int64_t stride = x.type().strides()[place];
  type.sizes[place] = size;
  Tensor result(type, poison());
  double *out = result.mutableData();
  for (int64_t i = 0, n = result.count(); i < n; ++i) {
    int64_t outer = i / stride / size, index = i / stride % size + start, inner = i % stride;
    if (index < whole)
      out[i] = x[(outer * whole + index) * stride + inner];
  }
  return result;
}

} // namespace ptlc::run
