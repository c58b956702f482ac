//===- Pieces.h - Dimensions that micro-batches divide ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The batch is divided into n pieces; so are the dimensions that reshapes make
// of it, as long as the batch is their major part: (batch, seq) -> tokens, or
// batch -> (groups, local), where the groups are divided. A division is a matter
// of names: every type that has such a name shrinks.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_GRAD_PIECES_H
#define PTLC_COMPILER_TRANSFORMS_GRAD_PIECES_H

#include "dialects/Spmd/Spmd.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace ptlc::grad {

inline constexpr llvm::StringLiteral kBatch = "batch";

class PieceDims {
public:
  /// Finds the divided dimensions of a function. Fails with a diagnostic at an operation that needs
  /// rows of several pieces.
  static mlir::FailureOr<PieceDims> find(mlir::func::FuncOp loss, int64_t pieces);

  int64_t getPieces() const { return pieces; }
  /// Whether the last pieces are short, so that they have rows of padding.
  bool isUneven() const { return uneven; }
  bool isDivided(llvm::StringRef dim) const { return sizes.contains(dim); }
  /// Whether a value of this type has a row per sample (or part of one).
  bool hasRows(mlir::Type type) const;
  /// Returns the type of a piece.
  mlir::Type pieceType(mlir::Type type) const;
  /// Returns how the divided dimensions of the global `type` are cut; null if none is.
  spmd::CutsAttr cutsOf(mlir::Type type) const;

private:
  mlir::LogicalResult addReshape(ptl::ReshapeOp reshape);
  mlir::LogicalResult check(mlir::Operation *op) const;
  mlir::LogicalResult add(mlir::Operation *op, mlir::StringAttr dim, int64_t size);

  llvm::StringMap<int64_t> sizes; ///< global sizes; looked up by name only
  int64_t pieces = 1;
  bool uneven = false;
};

} // namespace ptlc::grad

#endif // PTLC_COMPILER_TRANSFORMS_GRAD_PIECES_H
