//===- Indexing.cpp - Gather, scatter, argmax, top-k ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/lib/ptl-run/Shapes.h"

#include "llvm/ADT/Twine.h"
#include <algorithm>
#include <cmath>

namespace ptlc::run {

Window windowOf(Name dim, int64_t size, llvm::ArrayRef<Window> windows) {
  for (const Window &window : windows)
    if (window.dim == dim)
      return window;
  return {dim, 0, size, size};
}

/// Names and sizes of `type` without `dim`.
static Type without(const Type &type, Name dim) {
  Type rest{type.element, {}, {}};
  for (size_t i = 0; i < type.names.size(); ++i)
    if (type.names[i] != dim) {
      rest.names.push_back(type.names[i]);
      rest.sizes.push_back(type.sizes[i]);
    }
  return rest;
}

/// A cut that was made for other types must not lead out of the tensor.
static llvm::Error tooLong(const Window &window, int64_t size) {
  return makeError("the cut of '" + window.dim + "' has " + llvm::Twine(window.valid) +
                   " elements, the tensor " + llvm::Twine(size));
}

static llvm::Error outOfRange(Name dim, double id, int64_t size) {
  return makeError("index " + llvm::Twine(static_cast<int64_t>(id)) + " is outside '" + dim +
                   "' of size " + llvm::Twine(size));
}

llvm::Expected<Tensor> gather(const Tensor &table, Name dim, const Tensor &ids, const Type &type,
                              llvm::ArrayRef<Window> windows) {
  int64_t place = table.type().find(dim);
  if (place < 0)
    return makeError("the table " + table.type().str() + " has no '" + dim + "'");
  Window window = windowOf(dim, table.type().sizes[place], windows);
  if (window.valid > table.type().sizes[place])
    return tooLong(window, table.type().sizes[place]);
  int64_t stride = table.type().strides()[place];
  // A name of the ids may be that of the table's dimension itself: it then means the ids'.
  Sizes tableStrides = table.type().stridesAlong(type.names);
  for (size_t i = 0; i < type.names.size(); ++i)
    if (type.names[i] == dim)
      tableStrides[i] = 0;
  Tensor result(type);
  double *out = result.mutableData();
  int64_t at = 0;
  double bad = 0;
  bool failed = false;
  walk<2>(type.sizes, {tableStrides, ids.type().stridesAlong(type.names)},
          [&](const std::array<int64_t, 2> &offset) {
            double id = ids[offset[1]];
            double &value = out[at++];
            value = std::isnan(id) ? poison() : 0;
            if (std::isnan(id))
              return;
            if (id < 0 || id >= window.global) {
              failed = true;
              bad = id;
              return;
            }
            int64_t row = static_cast<int64_t>(id) - window.start;
            if (row >= 0 && row < window.valid)
              value = table[offset[0] + row * stride];
          });
  if (failed)
    return outOfRange(dim, bad, window.global);
  return result;
}

llvm::Expected<Tensor> scatterAdd(const Tensor &ids, const Tensor &updates, Name dim,
                                  const std::optional<Tensor> &init, const Type &type,
                                  llvm::ArrayRef<Window> windows) {
  int64_t place = type.find(dim);
  if (place < 0)
    return makeError("the result " + type.str() + " has no '" + dim + "'");
  Window window = windowOf(dim, type.sizes[place], windows);
  if (window.valid > type.sizes[place])
    return tooLong(window, type.sizes[place]);
  Tensor result = init ? *init : Tensor(type);
  const Type &source = updates.type();
  Sizes resultStrides = type.stridesAlong(source.names);
  for (size_t i = 0; i < source.names.size(); ++i)
    if (source.names[i] == dim)
      resultStrides[i] = 0;
  for (Name name : without(type, dim).names)
    if (!source.has(name))
      return makeError("the updates " + source.str() + " lack '" + name + "'");
  double *out = result.mutableData();
  int64_t stride = type.strides()[place], at = 0;
  llvm::Error error = llvm::Error::success();
  walk<2>(source.sizes, {resultStrides, ids.type().stridesAlong(source.names)},
          [&](const std::array<int64_t, 2> &offset) {
            double id = ids[offset[1]], update = updates[at++];
            if (id < 0 || error)
              return;
            if (std::isnan(id)) {
              // It could be any of its row.
              for (int64_t row = 0; update != 0 && row < type.sizes[place]; ++row)
                out[offset[0] + row * stride] = poison();
            } else if (id >= window.global) {
              error = outOfRange(dim, id, window.global);
            } else if (int64_t row = static_cast<int64_t>(id) - window.start;
                       row >= 0 && row < window.valid) {
              out[offset[0] + row * stride] += update;
            }
          });
  if (error)
    return std::move(error);
  return result;
}

llvm::Expected<Tensor> argmax(const Tensor &x, Name over, const Type &type) {
  int64_t place = x.type().find(over);
  if (place < 0)
    return makeError(x.type().str() + " has no '" + over + "'");
  int64_t stride = x.type().strides()[place], size = x.type().sizes[place], at = 0;
  Tensor result(type);
  double *out = result.mutableData();
  walk<1>(type.sizes, {x.type().stridesAlong(type.names)},
          [&](const std::array<int64_t, 1> &offset) {
            double best = 0;
            for (int64_t i = 0; i < size; ++i) {
              double value = x[offset[0] + i * stride];
              if (std::isnan(value))
                best = poison();
              else if (!std::isnan(best) && value > x[offset[0] + int64_t(best) * stride])
                best = static_cast<double>(i);
            }
            out[at++] = best;
          });
  return result;
}

llvm::Expected<TopK> topK(const Tensor &x, Name from, Name to, const Type &values,
                          const Type &indices) {
  int64_t place = x.type().find(from), kept = values.find(to);
  if (place < 0 || kept < 0)
    return makeError("top_k of " + x.type().str() + " needs '" + from + "' and gives '" + to + "'");
  int64_t stride = x.type().strides()[place], size = x.type().sizes[place];
  int64_t outStride = values.strides()[kept], count = values.sizes[kept];
  Type rows = without(values, to);
  TopK result{Tensor(values), Tensor(indices)};
  double *value = result.values.mutableData(), *index = result.indices.mutableData();
  std::vector<int64_t> order(size);
  walk<2>(rows.sizes, {x.type().stridesAlong(rows.names), values.stridesAlong(rows.names)},
          [&](const std::array<int64_t, 2> &offset) {
            bool junk = false;
            for (int64_t i = 0; i < size; ++i) {
              order[i] = i;
              junk |= std::isnan(x[offset[0] + i * stride]);
            }
            auto larger = [&](int64_t i, int64_t j) {
              double a = x[offset[0] + i * stride], b = x[offset[0] + j * stride];
              return a > b || (a == b && i < j);
            };
            if (!junk)
              std::sort(order.begin(), order.end(), larger);
            for (int64_t i = 0; i < count; ++i) {
              value[offset[1] + i * outStride] = junk ? poison() : x[offset[0] + order[i] * stride];
              index[offset[1] + i * outStride] = junk ? poison() : static_cast<double>(order[i]);
            }
          });
  return result;
}

} // namespace ptlc::run
