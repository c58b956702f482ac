//===- Clashes.h - Rules that want one axis for two dimensions --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Two rules of equal strength may cut two dimensions of a value by one axis: `shard
// seq: tp, embed: tp` does of every activation. Of a weight or data field that is
// an error. Of other values one rule gives way, the same for all: whichever costs
// less traffic when the whole function is partitioned both ways.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_SHARD_CLASHES_H
#define PTLC_COMPILER_TRANSFORMS_SHARD_CLASHES_H

#include "compiler/Analysis/Sharding/Propagation.h"
#include "compiler/Analysis/Sharding/Reshard.h"

namespace ptlc::shard {

/// Propagates the rules of a plan through functions and writes the shardings of all values as
/// attributes.
class Annotator {
public:
  Annotator(const sharding::Mesh &mesh, llvm::ArrayRef<sharding::DimRule> rules,
            const llvm::StringSet<> &cutDims)
      : mesh(mesh), rules(rules), cutDims(cutDims), planner(mesh) {}

  /// Annotates a function. Decides what clashes in it and wasn't decided before, with a remark that
  /// names both rules and both prices.
  mlir::LogicalResult run(mlir::func::FuncOp function);

private:
  /// Annotates unless there is an undecided clash, which becomes `open`.
  mlir::LogicalResult annotate(mlir::func::FuncOp function, const sharding::Decisions &decisions,
                               std::optional<sharding::Clash> &open);
  mlir::FailureOr<sharding::Traffic> priceOf(mlir::func::FuncOp function,
                                             const sharding::Decisions &decisions);
  mlir::LogicalResult decide(mlir::func::FuncOp function, const sharding::Clash &clash);

  const sharding::Mesh &mesh;
  llvm::ArrayRef<sharding::DimRule> rules;
  const llvm::StringSet<> &cutDims;
  sharding::ReshardPlanner planner;
  sharding::Decisions decisions;
};

} // namespace ptlc::shard

#endif // PTLC_COMPILER_TRANSFORMS_SHARD_CLASHES_H
