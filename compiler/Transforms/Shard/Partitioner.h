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
#include "llvm/ADT/StringSet.h"

namespace ptlc::shard {

/// Rewrites one function whose values carry `spmd.shardings` into what a rank computes.
class Partitioner {
public:
  /// `cutDims`: dimensions that the plan cuts wherever they occur.
  Partitioner(mlir::func::FuncOp function, sharding::ReshardPlanner &planner,
              const llvm::StringSet<> &cutDims)
      : function(function), planner(planner), mesh(planner.getMesh()), cutDims(cutDims),
        builder(function.getContext()) {}

  /// Replaces the function. Fails, with a diagnostic at the operation, where an operation has no
  /// sharding rule or a step can't be carried out.
  mlir::LogicalResult run();

  /// Of all reshards that run() emitted, for all micro-batches.
  const sharding::Traffic &getTraffic() const { return traffic; }

private:
  /// How an operation will be divided.
  struct Choice {
    llvm::SmallVector<sharding::Sharding> operands, results;
    sharding::Assignment assignment;
    std::string insteadOf; ///< the moves of the next best way, if they would be dearer
  };
  /// Why a plan uses axes that neither of its ends names, and the plan that doesn't.
  struct Detour {
    std::string text, insteadOf;
  };

  /// What moving an operand would gather that should stay cut.
  struct Gathers {
    bool weights = false, cutDims = false;
  };
  struct Score;
  /// Of each operand, the axes over which it stays pending or becomes so.
  using Flow = llvm::SmallVector<sharding::AxisSet>;

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
  std::optional<std::pair<Score, Choice>>
  withoutFolds(mlir::Operation *op, const ShardingRule &rule, const Choice &choice);
  void noteOther(mlir::Operation *op, const ShardingRule &rule, Choice &choice, const Score &score,
                 llvm::ArrayRef<std::pair<Score, Choice>> ways);
  bool mayDefer(mlir::Value value);
  double operandCost(mlir::Value value, const sharding::Sharding &needed, Gathers &gathers);
  double resultCost(mlir::Value value, const sharding::Sharding &made);
  sharding::AxisSet pendingOn(mlir::Value value);
  bool isFinishedAnyway(mlir::OpOperand &use, sharding::AxisSet axes);
  /// Adds the ways in which pending sums may flow through: none, all that the operation is linear
  /// in, and, of a sum of several, whatever is pending on one of them, the others being kept in one
  /// place. `live` may flow on, `pending` is all.
  void addFlows(const ShardingRule &rule, const sharding::Assignment &assignment,
                llvm::ArrayRef<sharding::AxisSet> live, llvm::ArrayRef<sharding::AxisSet> pending,
                llvm::SmallVectorImpl<Flow> &flows);
  /// Completes a choice that has its assignment, and its score.
  void weigh(mlir::Operation *op, const ShardingRule &rule, const Flow &flow,
             llvm::ArrayRef<sharding::AxisSet> live, Choice &choice, Score &score);

  /// Returns the local value of `value` as `target`, moving the nearest version if there is none.
  /// `insteadOf` says what else was weighed, for the ledger.
  mlir::Value get(mlir::Value value, const sharding::Sharding &target,
                  llvm::StringRef insteadOf = "");
  const Version &nearest(mlir::Value value, const sharding::Sharding &target);
  mlir::Value emit(const sharding::Step &step, mlir::Value local, Versions &versions,
                   mlir::RankedTensorType global, const Detour &detour, llvm::StringRef insteadOf);
  Detour detourOf(const sharding::Plan &plan, llvm::ArrayRef<int64_t> shape);
  std::string describe(const sharding::Plan &plan) const;
  std::string describe(mlir::Operation *op, const Choice &choice);
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
  const llvm::StringSet<> &cutDims;
  mlir::OpBuilder builder;
  sharding::Traffic traffic;
  int64_t times = 1; ///< that what is emitted now will run
  llvm::DenseMap<mlir::Value, Versions> values;
  llvm::DenseMap<mlir::Operation *, ShardingRule> rules;
};

} // namespace ptlc::shard

#endif // PTLC_COMPILER_TRANSFORMS_SHARD_PARTITIONER_H
