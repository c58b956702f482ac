//===- ForwardProgram.h - Evaluation and sampling of a rank -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_STAGE_FORWARDPROGRAM_H
#define PTLC_COMPILER_TRANSFORMS_STAGE_FORWARDPROGRAM_H

#include "compiler/Transforms/Stage/RankProgram.h"

#include <set>

namespace ptlc::stage {

/// Functions without gradients.
inline constexpr llvm::StringLiteral kForwards[] = {"eval", "logits"};

/// Builds a rank's share of a function without gradients, `@eval` or `@logits`: the operations of
/// its stages, and messages to and from other ranks between them. compiler/doc/Pipeline.md.
class ForwardProgram {
public:
  /// `step` says which weights the rank holds.
  ForwardProgram(mlir::func::FuncOp source, const Step &step, const Routes &routes, int rank,
                 mlir::OpBuilder &builder)
      : source(source), step(step), routes(routes), rank(rank), builder(builder) {}
  /// Fails with a message if the function reads weights that training keeps on other ranks.
  mlir::LogicalResult build();

private:
  using Value = mlir::Value;
  using Range = llvm::iterator_range<mlir::Block::iterator>;

  int rankOf(int part) const;
  std::optional<int> partOf(Value value) const;
  void findParts(mlir::Block &block);
  bool staysHere(mlir::OpOperand &result) const;
  std::set<int> readersOf(Value value);
  void emit(Range operations);
  void emitLoop(ptl::AccumulateOp loop);
  void give(llvm::ArrayRef<Value> values, int owner);
  Value get(Value value);
  void finish();
  mlir::LogicalResult checkWeights();

  mlir::func::FuncOp source, function;
  const Step &step;
  const Routes &routes;
  int rank;
  mlir::OpBuilder &builder;
  llvm::DenseMap<Value, int> parts; ///< of values that belong to a stage
  mlir::IRMapping known;
  mlir::Operation *around = nullptr; ///< the loop that is being built, or null
};

} // namespace ptlc::stage

#endif // PTLC_COMPILER_TRANSFORMS_STAGE_FORWARDPROGRAM_H
