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
// with L the local elements and K the group's size; a step costs its bytes and a
// message on the slowest link in its group. Dijkstra's search over (cost, steps)
// finds the optimum, also when it uses an axis that neither side names: a
// hierarchical all-reduce comes out by itself. On meshes of more than four axes,
// where there are tens of thousands of states, the search ends at a number of
// states and the best of five greedy plans bounds it. Plans are memoised by shape,
// source and target, steps by shape and source.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_ANALYSIS_SHARDING_RESHARD_H
#define PTLC_COMPILER_ANALYSIS_SHARDING_RESHARD_H

#include "compiler/Analysis/Sharding/ReshardSteps.h"
#include <map>
#include <memory>
#include <tuple>

namespace ptlc::sharding {

class ReshardPlanner {
public:
  /// `elementBytes` scales bytes and costs.
  explicit ReshardPlanner(const Mesh &mesh, int64_t elementBytes = 4);
  ~ReshardPlanner();

  /// Returns the cheapest steps from `source` to `target` of a tensor of global shape `shape`; none
  /// if they are equal. Every pair of legal shardings has a plan.
  const Plan &plan(llvm::ArrayRef<int64_t> shape, const Sharding &source, const Sharding &target);

  /// The cost of that plan.
  double cost(llvm::ArrayRef<int64_t> shape, const Sharding &source, const Sharding &target);

  /// The plan that looks at nothing but its ends, to compare with.
  Plan direct(llvm::ArrayRef<int64_t> shape, const Sharding &source, const Sharding &target) const {
    return greedyPlan(Stepper(mesh, shape, elementBytes), source, target);
  }

  const Mesh &getMesh() const { return mesh; }

private:
  class Graph; ///< the shardings of one shape that a search has seen, and the steps between them
  using Shape = std::vector<int64_t>;
  using Key = std::tuple<Shape, Sharding, Sharding>;

  Graph &graphOf(llvm::ArrayRef<int64_t> shape, Fold kind);
  Plan search(llvm::ArrayRef<int64_t> shape, const Sharding &source, const Sharding &target);

  Mesh mesh;
  int64_t elementBytes;
  std::map<Key, Plan> plans;
  std::map<std::pair<Shape, Fold>, std::unique_ptr<Graph>> graphs;
};

} // namespace ptlc::sharding

#endif // PTLC_COMPILER_ANALYSIS_SHARDING_RESHARD_H
