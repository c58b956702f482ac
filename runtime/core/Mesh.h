//===- Mesh.h - Named axes of ranks, and pieces of dimensions -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The number of a rank is the mixed radix of its coordinates, first axis major.
// A dimension that is cut over several axes is cut by nested ceil division: each
// axis cuts the block of the axis before it into equal pieces, the last of which
// are short or empty. All ranks allocate the same padded length.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_CORE_MESH_H
#define PTLRT_CORE_MESH_H

#include "runtime/core/Status.h"
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ptlrt {

struct MeshAxis {
  std::string name;
  int64_t size = 1;
};

class Mesh {
public:
  Mesh() = default;
  explicit Mesh(std::vector<MeshAxis> meshAxes) : list(std::move(meshAxes)) {}

  const std::vector<MeshAxis> &axes() const { return list; }
  int ranks() const;
  /// The index of an axis, or -1.
  int find(const std::string &name) const;
  int64_t size(int axis) const { return list[axis].size; }
  int64_t coordinate(int rank, int axis) const;
  /// The ranks that differ from `rank` at most on `along` (indices of axes), in
  /// the mixed radix of `along` as given: the first is the major one.
  std::vector<int> group(int rank, std::span<const int> along) const;
  /// "dp = 2, tp = 4"; "one device" without axes.
  std::string describe() const;

private:
  std::vector<MeshAxis> list;
};

/// The part of a dimension that a piece holds; elements beyond `valid` are padding.
struct Extent {
  int64_t start = 0; ///< global index of its first element
  int64_t valid = 0;
  bool operator==(const Extent &) const = default;
};

inline int64_t ceilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The padded length of each piece when `length` is cut by `sizes`, outermost first.
int64_t pieceLength(int64_t length, std::span<const int64_t> sizes);
/// The piece at `coordinates` of those that pieceLength() describes.
Extent pieceExtent(int64_t length, std::span<const int64_t> sizes,
                   std::span<const int64_t> coordinates);
/// The piece at `place`, counted with the last size as the fastest.
Extent pieceAt(int64_t length, std::span<const int64_t> sizes, int64_t place);

} // namespace ptlrt

#endif // PTLRT_CORE_MESH_H
