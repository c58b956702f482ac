//===- Inference.h - The shardings of an operation's results ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads a sharding rule in one direction: from the shardings of the operands. One
// axis means one thing in an operation: it cuts one factor, alike in every operand
// that has the factor; or it is pending, in the operands that linearity allows; or
// nothing depends on it.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_SHARD_INFERENCE_H
#define PTLC_COMPILER_TRANSFORMS_SHARD_INFERENCE_H

#include "compiler/Transforms/Shard/ShardingVerifier.h"

namespace ptlc::shard {

class Inference {
public:
  /// `rule` is that of the global operation, `op` the local one.
  Inference(const sharding::Mesh &mesh, mlir::Operation *op, mlir::Operation *global,
            const ShardingRule &rule)
      : mesh(mesh), op(op), global(global), rule(rule), cuts(rule.factors.size()) {}

  /// Fails, with a diagnostic, if the operation doesn't allow these operands.
  mlir::LogicalResult readOperands(llvm::ArrayRef<sharding::Sharding> operands);
  mlir::FailureOr<sharding::Sharding> result(unsigned index);

  /// Fails unless the cuts that the local operation was compiled for are those of its operands and
  /// `results`.
  mlir::LogicalResult checkCuts(llvm::ArrayRef<sharding::Sharding> operands,
                                llvm::ArrayRef<sharding::Sharding> results);

private:
  mlir::LogicalResult readDim(unsigned operand, unsigned dim, const sharding::AxisList &axes);
  mlir::LogicalResult cutFactor(unsigned operand, unsigned factor, const sharding::AxisList &axes);
  mlir::LogicalResult claimAxes();
  mlir::LogicalResult checkPending(llvm::ArrayRef<sharding::Sharding> operands);
  bool isLinear(llvm::ArrayRef<bool> pending) const;
  bool isWholeDim(mlir::Value value, unsigned dim, const DimFactors &factors) const;
  mlir::FailureOr<sharding::AxisList> resultDim(unsigned index, unsigned dim);
  sharding::AxisList freeDim(unsigned index, unsigned dim) const;
  mlir::LogicalResult addPending(unsigned index, sharding::Sharding &sharding);

  const sharding::Mesh &mesh;
  mlir::Operation *op, *global;
  const ShardingRule &rule;
  llvm::SmallVector<std::optional<sharding::AxisList>, 4> cuts; ///< by factor; none: free
  llvm::DenseMap<sharding::AxisId, unsigned> owner;             ///< the factor that an axis cuts
  sharding::AxisSet pending = 0;
};

/// Whether cutting a factor leaves some result to be folded.
bool isFoldedAway(const ShardingRule &rule, unsigned factor);

} // namespace ptlc::shard

#endif // PTLC_COMPILER_TRANSFORMS_SHARD_INFERENCE_H
