//===- Schedule.h - A step as stage functions and a table ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_CODEGEN_SCHEDULE_H
#define PTLC_COMPILER_CODEGEN_SCHEDULE_H

#include "dialects/Ptl/Ptl.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace ptlc::codegen {

/// Values of `enum ptlrt_op`.
enum class StageOp : uint16_t {
  Count = 0,
  Fb = 1,
  Reduce = 2,
  Norm = 3,
  Opt = 4,
  Eval = 5,
  Sample = 6,
  Forward = 7,
  Backward = 8,
  WeightGradient = 9,
  WholeBackward = 10,
  Loss = 11,
  Tie = 12
};

/// What one function of the program does.
struct StageFunction {
  StageOp op;
  int64_t pieces = 1; ///< it is called once per micro-batch
  int64_t stage = 0;  ///< of a pipeline
  mlir::func::FuncOp owner;
  llvm::SmallVector<mlir::Operation *> operations;
  /// Rows of the list of instructions.
  int64_t rows() const { return op < StageOp::Forward ? pieces : 1; }
};

struct Schedule {
  std::vector<StageFunction> functions;
  unsigned stepFunctions = 0;      ///< the first ones make a training step, in order
  std::optional<unsigned> eval;    ///< called for each batch of an evaluation
  std::optional<unsigned> evalEnd; ///< called behind the last, if totals are added up
  std::optional<unsigned> sample;
  llvm::SmallVector<mlir::Operation *> collectives; ///< in order; the index of ptlrt_collective
  llvm::SmallVector<mlir::Operation *> exchanges;   ///< in order; the index of ptlrt_exchange
  llvm::DenseMap<mlir::Operation *, int32_t> indices;

  /// The number of a collective or an exchange among its like.
  int32_t indexOf(mlir::Operation *op) const { return indices.lookup(op); }
};

/// Cuts `@step` of a rank of a pipeline at its phases, and what is around them by kind;
/// otherwise `@step` at its loops over micro-batches and between counting, reducing, the norm and
/// the update, `@eval` behind its loop over batches, with what the loop reads in front of it;
/// `@logits` is one function.
Schedule buildSchedule(mlir::ModuleOp module);

} // namespace ptlc::codegen

#endif // PTLC_COMPILER_CODEGEN_SCHEDULE_H
