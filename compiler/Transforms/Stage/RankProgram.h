//===- RankProgram.h - The program of one rank of the pipeline --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_STAGE_RANKPROGRAM_H
#define PTLC_COMPILER_TRANSFORMS_STAGE_RANKPROGRAM_H

#include "compiler/Transforms/Stage/Routes.h"
#include "dialects/Ptl/Emitter.h"
#include "dialects/Spmd/Spmd.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringMap.h"

#include <map>

namespace ptlc::stage {

/// A step, its loop over micro-batches, and which rank each weight and sum belongs to.
struct Step {
  mlir::func::FuncOp function;
  ptl::AccumulateOp loop;
  mlir::StringAttr axis; ///< of the pipeline
  /// Ranks that hold each weight, ascending, by path.
  llvm::StringMap<llvm::SmallVector<int>> holders;
  llvm::DenseMap<mlir::Value, int> rankOfSum; ///< results of the loop

  Step(mlir::func::FuncOp step, ptl::AccumulateOp main, mlir::StringAttr axis,
       const Routes &routes);
  bool holds(int rank, llvm::StringRef path) const;
  /// The results of the loop that `value`, of the step's own block, depends on.
  llvm::SetVector<mlir::Value> sumsOf(mlir::Value value) const;

private:
  void findHolders(const Routes &routes);
};

/// Builds `@step` of one rank.
class RankProgram {
public:
  RankProgram(Step &step, const Routes &routes, int rank, mlir::OpBuilder &builder)
      : step(step), routes(routes), rank(rank), builder(builder) {}
  mlir::LogicalResult build();

private:
  using Value = mlir::Value;

  void declare();
  mlir::LogicalResult phase(const StagePhase &phase);
  Value inPhase(Value value, const StagePhase &phase, ptl::AccumulateOp made,
                mlir::IRMapping &mapping);
  using RouteVisitor = llvm::function_ref<void(unsigned number, int here,
                                               llvm::ArrayRef<mlir::Value>, bool gradients)>;
  /// Visits the routes from or to other ranks whose values a phase needs or makes.
  void forEachRoute(const StagePhase &phase, bool arrives, const RouteVisitor &visit);
  void receive(const StagePhase &phase);
  void send(const StagePhase &phase);
  void exchange();
  mlir::LogicalResult finish();
  mlir::FailureOr<Value> share(Value value, const mlir::Twine &what);
  /// The value of the step on this rank.
  Value get(Value value);
  void cloneSquares(spmd::SquareSumOp op);
  void finishNorm(spmd::RootOp op);
  void cloneUpdate(ptl::OptimizeOp op);
  void cloneLoop(ptl::AccumulateOp op);

  Step &step;
  const Routes &routes;
  int rank;
  mlir::OpBuilder &builder;
  mlir::func::FuncOp function;
  mlir::IRMapping known; ///< values of the step
  std::map<Pool, llvm::DenseMap<Value, Value>> slots;
};

} // namespace ptlc::stage

#endif // PTLC_COMPILER_TRANSFORMS_STAGE_RANKPROGRAM_H
