//===- Shapes.h - Indexing, shapes, generators ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Operations of which a rank may own a piece take `Window`s: where the local
// dimension lies in the global one. An uncut dimension is all of it.
//===----------------------------------------------------------------------===//
#ifndef PTLC_TEST_LIB_PTL_RUN_SHAPES_H
#define PTLC_TEST_LIB_PTL_RUN_SHAPES_H

#include "test/lib/ptl-run/Random.h"
#include "test/lib/ptl-run/Tensor.h"
#include <optional>

namespace ptlc::run {

/// A rank's piece of a dimension: local element i is global element start + i while i < valid; what
/// follows is padding.
struct Window {
  Name dim;
  int64_t start = 0, valid = 0, global = 0;
};
using Windows = llvm::SmallVector<Window, 2>;

/// The window of `dim`, or all of its `size` elements.
Window windowOf(Name dim, int64_t size, llvm::ArrayRef<Window> windows);

/// Replaces `dim` of `table` by the names of `ids`; names of both are aligned. Rows that another
/// rank owns read as 0, junk ids as junk; an id outside the global dimension is an error.
llvm::Expected<Tensor> gather(const Tensor &table, Name dim, const Tensor &ids, const Type &type,
                              llvm::ArrayRef<Window> windows);

/// The transpose: adds `updates` to the rows of `init` (zeros without it) that `ids` name. Negative
/// ids and rows of other ranks are left out. A junk id makes all rows junk that it could name,
/// unless its update is 0.
llvm::Expected<Tensor> scatterAdd(const Tensor &ids, const Tensor &updates, Name dim,
                                  const std::optional<Tensor> &init, const Type &type,
                                  llvm::ArrayRef<Window> windows);

/// Row-major regrouping: the names `from` become `to`; the first is the major one.
struct Arrow {
  Names from, to;
};
llvm::Expected<Tensor> reshape(const Tensor &x, llvm::ArrayRef<Arrow> arrows, const Type &type);

llvm::Expected<Tensor> concat(llvm::ArrayRef<Tensor> pieces, llvm::ArrayRef<Name> from, Name to,
                              const Type &type);
llvm::Expected<Tensor> slice(const Tensor &x, Name from, Name to, int64_t offset, const Type &type);
llvm::Expected<Tensor> pad(const Tensor &x, Name from, Name to, int64_t before, double value,
                           const Type &type);

/// Index of the largest element along `over`, the lowest of equals.
llvm::Expected<Tensor> argmax(const Tensor &x, Name over, const Type &type);
/// The largest elements along `from`, largest first, the lower index first among equals.
struct TopK {
  Tensor values, indices;
};
llvm::Expected<TopK> topK(const Tensor &x, Name from, Name to, const Type &values,
                          const Type &indices);

/// The global index along the only dimension; padding is junk.
Tensor iota(const Type &type, llvm::ArrayRef<Window> windows);

enum class Distribution : uint8_t { Uniform, Normal, TruncatedNormal };
/// Numbers by the row-major index in the *global* type.
Tensor random(const RandomStream &stream, Distribution distribution, const Type &type,
              llvm::ArrayRef<Window> windows);

/// `x` with `fill` in the padding of the dimensions of `windows`.
Tensor mask(const Tensor &x, llvm::ArrayRef<Window> windows, double fill);

/// The block of `size` elements from `start` along `dim`; beyond the end is junk.
Tensor block(const Tensor &x, Name dim, int64_t start, int64_t size);

} // namespace ptlc::run

#endif // PTLC_TEST_LIB_PTL_RUN_SHAPES_H
