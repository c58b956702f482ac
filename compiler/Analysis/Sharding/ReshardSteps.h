//===- ReshardSteps.h - What may follow a sharding --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_ANALYSIS_SHARDING_RESHARDSTEPS_H
#define PTLC_COMPILER_ANALYSIS_SHARDING_RESHARDSTEPS_H

#include "compiler/Analysis/Sharding/Mesh.h"
#include <map>
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

/// What a rank receives, and what that costs.
struct Traffic {
  int64_t bytes = 0, messages = 0;
  double cost = 0;
};

double costOf(const Plan &plan);
int64_t bytesOf(const Plan &plan);

/// Makes steps of tensors of one global shape on one mesh, with their bytes and costs.
class Stepper {
public:
  Stepper(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, int64_t elementBytes)
      : mesh(mesh), shape(shape.begin(), shape.end()), elementBytes(elementBytes) {}

  /// Returns every step that is legal from a sharding, always in the same order. What becomes
  /// pending by a mask is of `kind`, where nothing is pending yet.
  std::vector<Step> successors(const Sharding &from, Fold kind) const;

  Step slice(const Sharding &from, size_t dim, AxisId axis) const;
  Step mask(const Sharding &from, AxisId axis, Fold kind) const;
  Step allReduce(const Sharding &from, const AxisList &axes) const;
  Step reduceScatter(const Sharding &from, size_t dim, const AxisList &axes) const;
  /// `axes` are the last ones of `dim`.
  Step allGather(const Sharding &from, size_t dim, const AxisList &axes) const;
  Step allToAll(const Sharding &from, size_t dim, size_t to, const AxisList &axes) const;
  /// Requires canPermute().
  Step permute(const Sharding &from, const Sharding &target) const;
  /// Whether `target` holds the same pieces as `source` under other axes of the same sizes.
  bool canPermute(const Sharding &source, const Sharding &target) const;

  const Mesh &getMesh() const { return mesh; }
  size_t rank() const { return shape.size(); }

private:
  Step make(StepKind kind, AxisList axes, int dim, int to, const Sharding &source,
            Sharding target) const;
  void dropPadding(Step &step) const;
  bool cutAlike(int64_t size, const AxisList &source, const AxisList &target) const;
  void addReductions(const Sharding &from, std::vector<Step> &out) const;
  void addMoves(const Sharding &from, std::vector<Step> &out) const;
  void addPermutes(const Sharding &from, std::vector<Step> &out) const;

  const Mesh &mesh;
  llvm::SmallVector<int64_t, 4> shape;
  int64_t elementBytes;
  using Sizes = llvm::SmallVector<int64_t, 4>;
  mutable std::map<std::tuple<int64_t, Sizes, Sizes>, bool> alike; ///< what cutAlike() found
};

/// Returns the axes on which sender and receiver of a permute may differ, sorted.
AxisList permutedAxes(const Mesh &mesh, const Sharding &source, const Sharding &target);

/// Returns the best of five plans that a loop makes without looking ahead: slice where the target
/// continues, reduce-scatter, all-reduce, permute if that finishes, all-to-all, gather. On meshes
/// with slow links it is up to an order of magnitude above the optimum.
Plan greedyPlan(const Stepper &stepper, const Sharding &source, const Sharding &target);

} // namespace ptlc::sharding

#endif // PTLC_COMPILER_ANALYSIS_SHARDING_RESHARDSTEPS_H
