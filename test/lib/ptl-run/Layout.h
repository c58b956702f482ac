//===- Layout.h - Where a rank's piece of a tensor lies -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The layout of an uneven dimension is nested ceil: n cut by axes of sizes
// k1..km gives b0 = n, b(i) = ceil(b(i-1) / k(i)); the shard of coordinates
// c1..cm starts at the sum of c(i) b(i), and of its b(m) local elements
// v(m) are valid, with v0 = n and v(i) = clamp(v(i-1) - c(i) b(i), 0, b(i)).
//===----------------------------------------------------------------------===//
#ifndef PTLC_TEST_LIB_PTL_RUN_LAYOUT_H
#define PTLC_TEST_LIB_PTL_RUN_LAYOUT_H

#include "test/lib/ptl-run/Contraction.h"
#include "test/lib/ptl-run/Shapes.h"
#include "test/lib/ptl-run/Tensor.h"

namespace ptlc::run {

/// Named axes; the first is the major one of a rank's number. A program for one device has none.
struct Mesh {
  Names axes;
  Sizes sizes;

  int64_t ranks() const;
  int64_t size(Name axis) const; ///< 1 for an unknown axis
  int64_t coordinate(int64_t rank, Name axis) const;
  /// The ranks that differ from `rank` at most along `axes`, in mixed-radix order of `axes` as
  /// written, the first being the major one.
  llvm::SmallVector<int64_t> group(int64_t rank, llvm::ArrayRef<Name> axes) const;
};

/// A piece of a dimension.
struct Piece {
  int64_t size = 0, start = 0, valid = 0;
};
/// The piece of `whole` elements at `coordinates` among `sizes`, by nested ceil.
Piece piece(int64_t whole, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> coordinates);

/// Axes per dimension, major first, and the axes over which a value is pending.
struct Sharding {
  llvm::SmallVector<Names, 4> dims;
  Names partial;
  Fold kind = Fold::Sum;
};

/// How the elements of a global tensor are placed on ranks. `pieces` above 1 says that the first
/// `cut` dimension named `microDim` is cut into micro-batches before the mesh: a local buffer then
/// holds the rank's part of each piece, one after another.
struct Placement {
  Sharding sharding;
  int64_t pieces = 1;
  Name microDim;
};

/// For each local index along dimension `dim` of size `whole` the global one, or -1 for padding.
std::vector<int64_t> globalIndices(const Mesh &mesh, const Placement &placement, Name name,
                                   size_t dim, int64_t whole, int64_t rank);

/// Cuts `global` for `rank`; padding is junk. Of a pending sum coordinate 0 gets the value, the
/// others zeros; of max and min all get the value.
llvm::Expected<Tensor> distribute(const Mesh &mesh, const Placement &placement,
                                  const Tensor &global, const Type &local, int64_t rank);

/// The reverse, over all ranks. Pending values are folded, ranks ascending; replicas must be equal
/// bit for bit.
llvm::Expected<Tensor> collect(const Mesh &mesh, const Placement &placement,
                               llvm::ArrayRef<Tensor> locals, const Type &global);

} // namespace ptlc::run

#endif // PTLC_TEST_LIB_PTL_RUN_LAYOUT_H
