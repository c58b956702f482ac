//===- PieceBody.h - The loss of one micro-batch ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Copies `@loss` into the body of an accumulate, for one piece of the batch. The
// copy computes the piece's *share* of every total over the batch: what the
// accumulate adds up to the value that `@loss` means.
//
// A value is one of three:
//   rows    it has a divided dimension: these are the piece's own rows
//   share   a part of a total over the batch: rows were added up
//   same    neither: equal in every piece
// A fold over rows makes a share. Operations that are linear in their shares
// make shares; a value that is the same, added to a share, counts 1/n in each
// piece. Any other use of a share needs the total itself. If that depends on
// data alone it is computed before, by an accumulate of its own; if not, the
// program can't be cut.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_GRAD_PIECEBODY_H
#define PTLC_COMPILER_TRANSFORMS_GRAD_PIECEBODY_H

#include "compiler/Transforms/Grad/Pieces.h"
#include "mlir/IR/IRMapping.h"

namespace ptlc::grad {

class PieceBody {
public:
  /// `body` is the accumulate's block, still empty; its argument is the index of the piece. Totals
  /// are computed at `outside`, which stands before the accumulate.
  PieceBody(const PieceDims &dims, mlir::Block &body, mlir::OpBuilder outside)
      : dims(dims), builder(mlir::OpBuilder::atBlockEnd(&body)), outside(outside), body(body) {}

  /// `value` stands for an argument of `@loss`; of data, the body reads its piece.
  void bindArgument(mlir::BlockArgument argument, mlir::Value value, bool isData);

  /// Copies all operations of `loss` but the return.
  mlir::LogicalResult copy(mlir::Block &loss);

  /// Returns the piece's share of a scalar that `@loss` returns.
  mlir::Value shareOf(mlir::Value value);

private:
  bool isShare(mlir::Value original) const { return shares.contains(original); }
  mlir::LogicalResult copyOperation(mlir::Operation &op);
  /// Decides which operands of `op` must be totals; returns whether the result is a share.
  mlir::FailureOr<bool> arrangeOperands(mlir::Operation &op,
                                        llvm::SmallVectorImpl<mlir::Value> &operands);
  /// Makes operand `index` the total instead of the share.
  mlir::LogicalResult useTotal(mlir::Operation &op, unsigned index,
                               llvm::SmallVectorImpl<mlir::Value> &operands);
  /// Returns the sum over all pieces of a copied value that depends on data alone.
  mlir::Value totalOf(mlir::Value share);
  mlir::Value divideByPieces(mlir::Value value);

  const PieceDims &dims;
  mlir::OpBuilder builder, outside;
  mlir::Block &body;
  mlir::IRMapping mapping;              ///< from `@loss` to the copy
  llvm::DenseSet<mlir::Value> shares;   ///< values of `@loss`
  llvm::DenseSet<mlir::Value> dataOnly; ///< values of `@loss` that don't depend on weights
  llvm::MapVector<mlir::Value, mlir::Value> totals; ///< by the copied share
};

/// Joins neighbouring accumulates before `last` that don't use each other's results, so that data
/// that several totals count are read once.
void joinAccumulates(mlir::Operation *last);

} // namespace ptlc::grad

#endif // PTLC_COMPILER_TRANSFORMS_GRAD_PIECEBODY_H
