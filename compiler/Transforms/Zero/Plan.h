//===- Plan.h - What the plan says of a weight's storage --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_ZERO_PLAN_H
#define PTLC_COMPILER_TRANSFORMS_ZERO_PLAN_H

#include "compiler/Analysis/Stage/Parts.h"
#include "dialects/Spmd/Spmd.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace ptlc::zero {

/// Axes of the mesh, in its order.
using Axes = llvm::SmallVector<mlir::StringAttr>;

/// How much of a weight is split (1 states, 2 gradients, 3 weights) and over which axes.
struct Rule {
  int level = 0;
  Axes axes;
  mlir::LocationAttr place; ///< of the directive
};

/// What the attribute `zero` of the plan says, and what the mesh and the step are.
class Plan {
public:
  Plan(mlir::ModuleOp module, mlir::func::FuncOp step);
  /// Fails with a message if the step can't be cut into the stages of the pipeline.
  mlir::LogicalResult findStages(mlir::ModuleOp module);

  bool isPipeline() const { return pipeline; }
  bool isReproducible() const { return reproducible; }
  /// Whether collectives run beside kernels.
  bool overlaps() const { return overlap; }
  /// All axes of the mesh, in order.
  llvm::ArrayRef<mlir::StringAttr> axes() const { return all; }
  /// Whether gradients are summed over the micro-batches before they are over ranks.
  bool sumsOnce() const { return reproducible || pipeline; }
  /// Bytes that a bucket may have, or 0.
  int64_t bucketBytes() const { return bucket; }
  /// The stages of the pipeline that use a weight or answer for its gradient, ascending.
  llvm::SmallVector<int64_t> stagesOf(mlir::Value weight) const;
  /// Part of the pipeline of an operation in the body over micro-batches; 0 without a pipeline.
  int partOf(mlir::Operation *op) const;
  /// The rule for a weight, an argument of the step, without the axes that cut it anyhow.
  Rule ruleFor(mlir::BlockArgument weight) const;
  /// The axes that cut an argument of the step.
  Axes cutAxes(mlir::BlockArgument weight) const;
  /// `axes` in the order of the mesh, each once.
  Axes sorted(llvm::ArrayRef<mlir::StringAttr> axes) const;
  /// Place of an axis in the mesh.
  size_t numberOf(mlir::StringAttr axis) const;
  spmd::AxesAttr attribute(llvm::ArrayRef<mlir::StringAttr> axes) const;

  spmd::MeshOp mesh;

private:
  mlir::func::FuncOp step;
  llvm::StringMap<Rule> rules; ///< by path
  Axes all;
  bool reproducible = false, pipeline = false, overlap = false;
  int64_t bucket = 0;
  std::optional<stage::Parts> parts; ///< of a pipeline
  llvm::DenseMap<mlir::Value, std::set<int>> stages;
};

} // namespace ptlc::zero

#endif // PTLC_COMPILER_TRANSFORMS_ZERO_PLAN_H
