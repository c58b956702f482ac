//===- Tensor.h - Where the elements of a logical tensor lie --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Files, random numbers and people speak of logical (global) tensors in declared
// order; a rank's arena holds its piece, folded to a matrix with padded rows. Everything that
// goes from one to the other, whatever the mesh, is forEachRun(): it visits the
// valid elements of one rank's piece as runs that are contiguous on both sides.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_CORE_TENSOR_H
#define PTLRT_CORE_TENSOR_H

#include "runtime/core/Mesh.h"
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace ptlrt {

inline constexpr int kMaxDims = 12;

enum class Element : uint8_t { F32, I32, I64, Byte, BF16 };
int64_t elementSize(Element element);
const char *elementName(Element element);

/// A matrix in the arena: element (r, c) at offset + size * (r * stride + c).
struct Layout {
  int64_t offset = 0; ///< bytes
  int64_t rows = 1, cols = 1;
  int64_t stride = 1; ///< elements
};

/// How a bucket is split: the rank at place k of its group over `axes` has bytes
/// [k * part, (k + 1) * part) from `offset` on. If they are `packed` they lie at `offset` there.
struct Split {
  int64_t offset = 0, part = 0; ///< bytes
  bool packed = false;
  std::vector<int> axes; ///< of the mesh, major first; empty: not split
};

/// Where a tensor of a bucket, or one by itself, is stored. `layout` says where it would lie if all
/// parts of the bucket lay behind each other.
struct Storage {
  Layout layout;
  Split split;
};

/// What one rank has of such a tensor.
struct Window {
  int64_t begin = 0, end = INT64_MAX; ///< bytes of the layout
  int64_t shift = 0;                  ///< bytes from the layout to where they are, downwards
};
Window windowOf(const Split &split, const Mesh &mesh, int rank);

/// Bytes of an arena.
struct ByteRange {
  int64_t offset = 0, bytes = 0;
};
/// From the first to the last byte that a rank has of a tensor with elements of `size` bytes.
ByteRange heldBytes(const Storage &storage, int64_t size, const Mesh &mesh, int rank);

/// A logical tensor and how it is cut: per dimension the axes of the mesh, major first.
struct TensorInfo {
  std::string name;
  Element element = Element::F32;
  std::vector<int64_t> shape;
  std::vector<std::string> dims;
  std::vector<std::vector<int>> sharding; ///< empty: not cut
  Layout layout;
  Split split;

  int64_t elements() const;
  Storage storage() const { return {layout, split}; }
  /// "[256, 64]".
  std::string describeShape() const;
};

/// One rank's piece: the padded shape that it allocates and what of it is valid.
struct Piece {
  int rank = 0; ///< number of dimensions
  std::array<int64_t, kMaxDims> global{}, local{};
  std::array<Extent, kMaxDims> extent{};
};
Piece pieceOf(const TensorInfo &tensor, const Mesh &mesh, int rank);
/// `count` elements from global index `global`, at element `local` of the padded piece.
struct Run {
  int64_t global, local, count;
};

/// Visits the runs of a piece, both indices ascending. `visit(Run)` returns false to stop.
/// Doesn't allocate.
template <typename Visitor> void forEachRun(const Piece &piece, Visitor &&visit);

/// Visits the parts of `count` elements from element `local` that are contiguous in memory:
/// `visit(byte offset in the arena, elements)`.
template <typename Visitor>
void forEachPart(const Layout &layout, int64_t size, int64_t local, int64_t count,
                 Visitor &&visit) {
  while (count > 0) {
    int64_t row = local / layout.cols, col = local % layout.cols;
    // Rows without padding between them are one part.
    int64_t part = layout.stride == layout.cols ? count : std::min(count, layout.cols - col);
    visit(layout.offset + size * (row * layout.stride + col), part);
    local += part;
    count -= part;
  }
}

/// Walks `count` elements from element `a` of one layout and `b` of another in parts that are
/// contiguous in both: `visit(offset a, offset b, elements)`.
template <typename Visitor>
void forEachPair(const Layout &first, int64_t a, const Layout &second, int64_t b, int64_t size,
                 int64_t count, Visitor &&visit) {
  forEachPart(first, size, a, count, [&](int64_t offset, int64_t part) {
    forEachPart(second, size, b, part, [&](int64_t other, int64_t elements) {
      visit(offset, other, elements);
      offset += elements * size;
    });
    b += part;
  });
}

/// The same of those that are in a window: `visit(byte offset in the arena, first, elements)`,
/// where `first` counts from `local`.
template <typename Visitor>
void forEachHeld(const Layout &layout, const Window &window, int64_t size, int64_t local,
                 int64_t count, Visitor &&visit) {
  int64_t done = 0;
  forEachPart(layout, size, local, count, [&](int64_t offset, int64_t part) {
    int64_t from = std::clamp<int64_t>((window.begin - offset) / size, 0, part);
    int64_t to = std::clamp<int64_t>((window.end - offset) / size, 0, part);
    if (from < to)
      visit(offset + from * size - window.shift, done + from, to - from);
    done += part;
  });
}

template <typename Visitor> void forEachRun(const Piece &piece, Visitor &&visit) {
  // Dimensions after `split` are whole, so a run covers `split` and all after it.
  int split = piece.rank - 1;
  int64_t inner = 1;
  while (split > 0 && piece.extent[split].valid == piece.global[split] &&
         piece.local[split] == piece.global[split])
    inner *= piece.global[split--];
  if (piece.rank == 0)
    return (void)visit(Run{0, 0, 1});
  for (int d = 0; d <= split; ++d)
    if (piece.extent[d].valid == 0)
      return;
  std::array<int64_t, kMaxDims> index{};
  while (true) {
    Run run{0, 0, piece.extent[split].valid * inner};
    for (int d = 0; d < split; ++d) {
      run.global = (run.global + piece.extent[d].start + index[d]) * piece.global[d + 1];
      run.local = (run.local + index[d]) * piece.local[d + 1];
    }
    run.global = (run.global + piece.extent[split].start) * inner;
    run.local *= inner;
    if (!visit(run))
      return;
    int d = split - 1;
    for (; d >= 0 && ++index[d] == piece.extent[d].valid; --d)
      index[d] = 0;
    if (d < 0)
      return;
  }
}

} // namespace ptlrt

#endif // PTLRT_CORE_TENSOR_H
