//===- Interpreter.h - Runs a function on simulated ranks -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// All ranks walk the program in lock step, one operation at a time, so that a
// collective is a function of what the ranks hold. A program for one device is
// the case of one rank.
//===----------------------------------------------------------------------===//
#ifndef PTLC_TEST_LIB_PTL_RUN_INTERPRETER_H
#define PTLC_TEST_LIB_PTL_RUN_INTERPRETER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "test/lib/ptl-run/Execute.h"
#include <map>

namespace ptlc::run {

/// A value on every rank.
using PerRank = llvm::SmallVector<Tensor, 1>;

struct Outcome {
  std::vector<PerRank> results;
  /// Values that carry a path in `ptl.grad`.
  std::map<std::string, PerRank> gradients;
};

class Interpreter {
public:
  Interpreter(mlir::func::FuncOp function, const Mesh &mesh, const RunOptions &options)
      : function(function), mesh(mesh), options(options) {}

  /// Runs the function; failure has been reported at the operation. The result lives on.
  llvm::FailureOr<Outcome> run(llvm::ArrayRef<PerRank> arguments);

private:
  llvm::LogicalResult runBlock(mlir::Block &block);
  llvm::LogicalResult runOperation(mlir::Operation &op);
  llvm::LogicalResult runOnRanks(mlir::Operation &op);
  llvm::LogicalResult runAccumulate(mlir::Operation &op);
  llvm::LogicalResult runChunks(mlir::Operation &op);
  llvm::LogicalResult runKernel(mlir::Operation &op);
  llvm::Expected<OpState> stateFor(mlir::Operation &op, int64_t rank);
  void define(mlir::Value value, PerRank tensors);
  void keepGradients(mlir::Operation &op);
  void releaseAfter(mlir::Operation &op);
  void findLastUses(mlir::Block &block);
  llvm::LogicalResult checkShapes(mlir::Operation &op);

  mlir::func::FuncOp function;
  const Mesh &mesh;
  RunOptions options;
  Outcome outcome;
  llvm::DenseMap<mlir::Value, PerRank> values;
  /// The number of the micro-batch, one per accumulate that is running.
  llvm::SmallVector<int64_t> micro;
  /// The piece of the rt.chunks that is running.
  std::optional<int64_t> chunk;
  /// Values of a block that no operation after this one reads.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value, 2>> lastUses;
  llvm::SmallPtrSet<mlir::Block *, 8> analysed;
};

} // namespace ptlc::run

#endif // PTLC_TEST_LIB_PTL_RUN_INTERPRETER_H
