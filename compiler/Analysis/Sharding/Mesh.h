//===- Mesh.h - Meshes, shardings and layouts of cut dimensions -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A mesh is a list of named axes; a rank's number is the mixed radix of its
// coordinates, first axis major. A sharding says for each dimension of a tensor
// by which axes it is cut, major first, and over which axes the value is still
// *pending*, that is: to be folded over the ranks along them.
//
// Uneven dimensions are cut by nested ceiling division (dialects/Spmd/Extent.h).
// Every rank holds a buffer of the last block's length; what lies beyond the
// valid part is junk. Gathering the minor axis of any list gives again a legal
// shard, which is what makes resharding local in nearly all cases.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_ANALYSIS_SHARDING_MESH_H
#define PTLC_COMPILER_ANALYSIS_SHARDING_MESH_H

#include "dialects/Spmd/Extent.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace ptlc::sharding {

/// Index of an axis in its mesh.
using AxisId = uint8_t;
/// Axes that cut one dimension, the major one first.
using AxisList = llvm::SmallVector<AxisId, 2>;
/// A set of axes as bits.
using AxisSet = uint32_t;

inline constexpr unsigned kMaxAxes = 16;

inline AxisSet axisBit(AxisId axis) { return AxisSet(1) << axis; }

struct Axis {
  std::string name;
  int64_t size = 1;
  double weight = 1;   ///< cost of a byte on the axis' link
  double latency = 64; ///< cost of one message, in bytes of the fastest link
  /// Ranks along it run programs of their own (a pipeline): nothing is cut or moved along it.
  bool divides = false;

  bool hasLinkOf(const Axis &other) const {
    return weight == other.weight && latency == other.latency;
  }
};

class Mesh {
public:
  Mesh() = default;
  explicit Mesh(llvm::SmallVector<Axis, 4> axes) : axes(std::move(axes)) {}

  size_t size() const { return axes.size(); }
  const Axis &operator[](AxisId axis) const { return axes[axis]; }
  llvm::ArrayRef<Axis> all() const { return axes; }
  int64_t ranks() const;
  int64_t product(llvm::ArrayRef<AxisId> list) const;
  /// The index of the axis `name`, or -1.
  int find(llvm::StringRef name) const;
  /// Cost of moving `bytes` among ranks that differ on `list`: that of the slowest link.
  double cost(double bytes, llvm::ArrayRef<AxisId> list) const;

private:
  llvm::SmallVector<Axis, 4> axes;
};

enum class Fold : uint8_t { Sum, Max, Min };

struct Sharding {
  llvm::SmallVector<AxisList, 4> dims;
  AxisSet partial = 0;
  Fold kind = Fold::Sum; ///< of `partial`

  Sharding() = default;
  /// Replicated, of `rank` dimensions.
  explicit Sharding(size_t rank) : dims(rank) {}

  bool operator==(const Sharding &other) const {
    return dims == other.dims && partial == other.partial && (!partial || kind == other.kind);
  }
  bool operator!=(const Sharding &other) const { return !(*this == other); }
  /// A total order, for maps.
  bool operator<(const Sharding &other) const;

  /// All axes that cut a dimension.
  AxisSet used() const;
  bool isReplicated() const { return partial == 0 && used() == 0; }
  Sharding withDim(size_t dim, AxisList list) const;
  Sharding withPartial(AxisSet set) const;
};

AxisSet setOf(llvm::ArrayRef<AxisId> list);

/// Length of a rank's buffer for a dimension of size `n` cut by `list`.
int64_t localLength(const Mesh &mesh, int64_t n, llvm::ArrayRef<AxisId> list);

/// Lengths at each level: n, ceil(n / k1), ...
llvm::SmallVector<int64_t, 4> blockLengths(const Mesh &mesh, int64_t n,
                                           llvm::ArrayRef<AxisId> list);

/// Whether some rank's valid part is shorter than its buffer.
bool isUneven(const Mesh &mesh, int64_t n, llvm::ArrayRef<AxisId> list);

llvm::SmallVector<int64_t, 4> localShape(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                                         const Sharding &sharding);

using spmd::Extent;
/// The shard at `coords`, one coordinate per axis of `list`.
Extent extentOf(const Mesh &mesh, int64_t n, llvm::ArrayRef<AxisId> list,
                llvm::ArrayRef<int64_t> coords);
/// All shards in order of their coordinates.
llvm::SmallVector<Extent> allExtents(const Mesh &mesh, int64_t n, llvm::ArrayRef<AxisId> list);

/// Writes "[(x y), -] sum{z}".
std::string toString(const Mesh &mesh, const Sharding &sharding);

} // namespace ptlc::sharding

#endif // PTLC_COMPILER_ANALYSIS_SHARDING_MESH_H
