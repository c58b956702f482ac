//===- Reshard.h - The cheapest way from one sharding to another -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// States are shardings, edges are steps that are legal on padded local buffers:
//   slice           a replicated axis cuts a dimension further          free
//   mask            replicated becomes pending: coordinate 0 keeps it   free
//   all_gather      a suffix of a dimension's axes is joined            (K-1) L
//   all_to_all      a suffix moves from one dimension to another        (K-1) chunk
//   reduce_scatter  pending axes are folded and cut a dimension         (K-1) Lout
//   all_reduce      pending axes are folded                             2 (K-1) ceil(L/K)
//   permute         the same pieces under other axes of the same sizes  L
// with L the local elements and K the group's size. Dijkstra's search over
// (cost, steps) finds the optimum for meshes of up to four axes, also when it
// uses an axis that neither side names: a hierarchical all-reduce comes out by
// itself. Plans are memoised by shape, source and target.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_ANALYSIS_SHARDING_RESHARD_H
#define PTLC_COMPILER_ANALYSIS_SHARDING_RESHARD_H

#include "compiler/Analysis/Sharding/Mesh.h"
#include <map>
#include <tuple>
#include <vector>

namespace ptlc::sharding {

enum class StepKind : uint8_t {
  Slice,
  Mask,
  AllGather,
  AllToAll,
  ReduceScatter,
  AllReduce,
  Permute
};

/// Returns "all_gather" and the like.
llvm::StringRef stepName(StepKind kind);

struct Step {
  StepKind kind = StepKind::Slice;
  AxisList axes;         ///< of the group; order matters
  int dim = -1, to = -1; ///< the dimension concerned; all_to_all: the one that becomes cut
  Sharding source, target;
  int64_t bytes = 0; ///< received per rank
  double cost = 0;
};

using Plan = std::vector<Step>;

class ReshardPlanner {
public:
  /// `elementBytes` scales bytes and costs.
  explicit ReshardPlanner(const Mesh &mesh, int64_t elementBytes = 4)
      : mesh(mesh), elementBytes(elementBytes) {}

  /// Returns the cheapest steps from `source` to `target` of a tensor of global shape `shape`; none
  /// if they are equal. Every pair of legal shardings has a plan.
  const Plan &plan(llvm::ArrayRef<int64_t> shape, const Sharding &source, const Sharding &target);

  /// The cost of that plan.
  double cost(llvm::ArrayRef<int64_t> shape, const Sharding &source, const Sharding &target);

  const Mesh &getMesh() const { return mesh; }

private:
  using Shape = std::vector<int64_t>;
  using Key = std::tuple<Shape, Sharding, Sharding>;

  Plan search(llvm::ArrayRef<int64_t> shape, const Sharding &source, const Sharding &target);
  std::vector<Step> successors(llvm::ArrayRef<int64_t> shape, const Sharding &from,
                               const Sharding &target);
  void addReductions(llvm::ArrayRef<int64_t> shape, const Sharding &from, std::vector<Step> &out);
  void addMoves(llvm::ArrayRef<int64_t> shape, const Sharding &from, std::vector<Step> &out);
  void addPermutes(llvm::ArrayRef<int64_t> shape, const Sharding &from, std::vector<Step> &out);
  Step make(llvm::ArrayRef<int64_t> shape, StepKind kind, AxisList axes, int dim, int to,
            const Sharding &source, const Sharding &target);

  Mesh mesh;
  int64_t elementBytes;
  std::map<Key, Plan> plans;
};

/// Whether `target` holds the same pieces as `source` under other axes of the same sizes.
bool canPermute(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, const Sharding &source,
                const Sharding &target);

} // namespace ptlc::sharding

#endif // PTLC_COMPILER_ANALYSIS_SHARDING_RESHARD_H
