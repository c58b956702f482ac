//===- Partitioner.h - From a global function to a local one ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_SHARD_PARTITIONER_H
#define PTLC_COMPILER_TRANSFORMS_SHARD_PARTITIONER_H

#include "compiler/Analysis/Sharding/Reshard.h"
#include "compiler/Transforms/Shard/Candidates.h"
#include "compiler/Transforms/Shard/Versions.h"
#include "dialects/Spmd/Spmd.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace ptlc::shard {

/// Rewrites one function whose values carry `spmd.shardings` into what a rank computes.
class Partitioner {
public:
  Partitioner(mlir::func::FuncOp function, sharding::ReshardPlanner &planner)
      : function(function), planner(planner), mesh(planner.getMesh()),
        builder(function.getContext()) {}

  /// Replaces the function. Fails, with a diagnostic at the operation, where an operation has no
  /// sharding rule or a step can't be carried out.
  mlir::LogicalResult run();

private:
  /// How an operation will be divided.
  struct Choice {
    llvm::SmallVector<sharding::Sharding> operands, results;
    sharding::Assignment assignment;
  };

  /// What moving an operand would gather that should stay cut.
  struct Gathers {
    bool weights = false, batch = false;
  };

  void addArguments(mlir::func::FuncOp local);
  mlir::LogicalResult block(mlir::Block &from);
  mlir::LogicalResult visit(mlir::Operation *op);
  mlir::LogicalResult divide(mlir::Operation *op, const ShardingRule &rule);
  mlir::LogicalResult accumulate(ptl::AccumulateOp op);
  void microbatch(ptl::MicrobatchOp op);
  mlir::LogicalResult constrain(spmd::ConstrainOp op);
  mlir::LogicalResult optimize(ptl::OptimizeOp op);
  mlir::LogicalResult globalNorm(ptl::GlobalNormOp op);
  mlir::Value partOf(mlir::Value value, const sharding::Sharding &sharding);
  mlir::Value addSquares(mlir::Value square, llvm::ArrayRef<sharding::AxisId> axes);
  mlir::LogicalResult finish(mlir::func::ReturnOp op);

  Choice choose(mlir::Operation *op, const ShardingRule &rule);
  bool mayDefer(mlir::Value value);
  double operandCost(mlir::Value value, const sharding::Sharding &needed, Gathers &gathers);

  /// Returns the local value of `value` as `target`, moving the nearest version if there is none.
  /// Null after a diagnostic.
  mlir::Value get(mlir::Value value, const sharding::Sharding &target);
  mlir::Value emit(const sharding::Step &step, mlir::Value local, Versions &versions,
                   mlir::RankedTensorType global);
  mlir::Value mask(mlir::Value local, mlir::Value global, const sharding::Sharding &sharding,
                   llvm::ArrayRef<unsigned> dims, double fill);
  mlir::LogicalResult maskOperands(mlir::Operation *op, const ShardingRule &rule,
                                   const Choice &choice,
                                   llvm::SmallVectorImpl<mlir::Value> &locals);
  void setCuts(mlir::Operation *from, mlir::Operation *to, const ShardingRule &rule,
               const Choice &choice);
  void setReadings(mlir::Operation *from, mlir::Operation *to, const ShardingRule &rule,
                   const Choice &choice);
  void notePending(mlir::Operation *op, const ShardingRule &rule, const Choice &choice);

  Versions &track(mlir::Value value);
  void produce(mlir::Value global, mlir::Value local, const sharding::Sharding &sharding);
  void used(mlir::Operation *op);
  sharding::Sharding wanted(mlir::Value value);
  mlir::RankedTensorType localType(mlir::Value value, const sharding::Sharding &sharding);

  mlir::func::FuncOp function;
  sharding::ReshardPlanner &planner;
  const sharding::Mesh &mesh;
  mlir::OpBuilder builder;
  llvm::DenseMap<mlir::Value, Versions> values;
  llvm::DenseMap<mlir::Operation *, ShardingRule> rules;
};

} // namespace ptlc::shard

#endif // PTLC_COMPILER_TRANSFORMS_SHARD_PARTITIONER_H
