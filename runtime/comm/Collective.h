//===- Collective.h - What ranks do together ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A collective is described once, by the compiler, for all ranks: its group is
// the ranks that differ only on its axes, its data are segments of the arena at
// the same place on every rank.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_COMM_COLLECTIVE_H
#define PTLRT_COMM_COLLECTIVE_H

#include "runtime/core/Tensor.h"

namespace ptlrt {

enum class CollectiveKind : uint8_t {
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  Permute,
  Broadcast,
  Message ///< no collective, but in the same ledger: what a rank receives from another stage
};
enum class ReduceKind : uint8_t { Sum, Max, Min };
const char *collectiveName(CollectiveKind kind);
const char *reduceName(ReduceKind kind);

/// Data of a collective. All-reduce and broadcast work in place on `in`. For the others `in` and
/// `out` don't overlap, but for a piece in its own place (`step`). All-gather reads this rank's
/// piece of [outer, length, inner] at `in` and writes the whole to `out`, reduce-scatter reads the
/// whole and writes the piece. Pieces cut `length` by the axes of the group, by nested ceil
/// division (pieceExtent); they may end early or be empty. All-to-all joins the pieces of one
/// dimension and cuts another: the whole is [outer, length, middle, other, inner], `in` holds a
/// piece of `length` and `out` one of `other`, or the other way round (`joinsSecond`). Permute
/// gives `in` on as it is, to `out` of another rank.
struct CommSegment {
  Layout in, out;
  int64_t outer = 1, length = 1, inner = 1;
  int64_t middle = 1, other = 1; ///< all-to-all
  bool joinsSecond = false;      ///< all-to-all: `other` is joined, `length` is cut
  /// All-gather and reduce-scatter: the piece of the k-th member lies k * step bytes further. So it
  /// may be the part of the whole that it becomes or comes from.
  int64_t step = 0;

  int64_t whole() const { return outer * length * middle * other * inner; }
};

struct Collective {
  CollectiveKind kind = CollectiveKind::AllReduce;
  ReduceKind reduce = ReduceKind::Sum;
  Element element = Element::F32;
  std::vector<int> axes; ///< of the mesh, major first
  std::vector<CommSegment> segments;
  int root = 0; ///< broadcast: place in the group
  /// Permute: for each place in the group the one whose `in` becomes `out`; each occurs once.
  std::vector<int> sources;
  double predictedBytes = 0; ///< per call and rank, by the compiler; a fraction if M isn't even
  int64_t times = 1;         ///< calls per step
  bool overlaps = false;     ///< it is started and waited for; else it is run
  std::string line, reason;

  /// Sizes of the axes in the order in which members are folded; an all-reduce's are those of the
  /// mesh, ascending.
  std::vector<int64_t> foldSizes(const Mesh &mesh) const;
  /// "all_reduce sum over dp (model.ptl:31:12)".
  std::string describe(const Mesh &mesh) const;
};

/// What one rank moved in one collective so far, counted where bytes are copied.
struct Traffic {
  int64_t calls = 0;
  int64_t read = 0;    ///< bytes read from each other rank's arena, summed
  int64_t written = 0; ///< bytes written into other ranks' arenas, summed
};

} // namespace ptlrt

#endif // PTLRT_COMM_COLLECTIVE_H
