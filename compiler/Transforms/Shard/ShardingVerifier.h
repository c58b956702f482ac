//===- ShardingVerifier.h - Is a rank's program the global one? -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Trusts the global program, the sharding rules of its operations, and how its
// arguments lie on the mesh. Everything else is inferred: walking both programs
// in step, it keeps for each local value which global value it is a part of, and
// under which sharding. By induction a program that passes computes the global
// results:
//   (1) a collective whose precondition holds keeps the global value and changes
//       the sharding as its definition says;
//   (2) a local operation that is the global one, applied to parts whose cuts its
//       rule allows, gives a part of the global result, under the sharding that
//       the rule infers.
// It shares the layout of cut dimensions (Mesh.h) with the partitioner, and no
// rule about what to do with it. Linear in the program.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_SHARD_SHARDINGVERIFIER_H
#define PTLC_COMPILER_TRANSFORMS_SHARD_SHARDINGVERIFIER_H

#include "compiler/Analysis/Sharding/Mesh.h"
#include "dialects/Spmd/Spmd.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringMap.h"

namespace ptlc::shard {

/// What a local value is.
struct Part {
  mlir::Value global; ///< that it is a part of
  sharding::Sharding sharding;
  /// Per dimension what the padding holds; nullopt: anything. Only a mask knows.
  llvm::SmallVector<std::optional<double>, 4> padding;
  int64_t pieces = 1; ///< micro-batches of a data field, one behind the other
};

/// On the way to a norm: of the values in `members`, each counted, the sum of squares, or its root.
/// Over `axes` ranks hold different parts, whose squares must still be added.
struct NormShare {
  llvm::DenseMap<mlir::Value, unsigned> members;
  sharding::AxisSet axes = 0;
  bool isRoot = false;
};

/// Starts an error about `op` of the local program.
mlir::InFlightDiagnostic wrong(mlir::Operation *op);

class ShardingVerifier {
public:
  explicit ShardingVerifier(const sharding::Mesh &mesh) : mesh(mesh) {}

  /// Fails, with a diagnostic at the first mistake, unless `local` computes a rank's part of
  /// `global`.
  mlir::LogicalResult run(mlir::func::FuncOp global, mlir::func::FuncOp local);

private:
  // Structure (ShardingVerifier.cpp).
  mlir::LogicalResult arguments();
  mlir::LogicalResult block(mlir::Block &globalBlock, mlir::Block &localBlock);
  mlir::LogicalResult visit(mlir::Operation *op, mlir::Operation *expected, bool &matched);
  mlir::LogicalResult match(mlir::Operation *op, mlir::Operation *expected);
  mlir::LogicalResult sameAttributes(mlir::Operation *op, mlir::Operation *expected);
  mlir::LogicalResult sameOperands(mlir::Operation *op, mlir::Operation *expected);
  mlir::LogicalResult accumulate(ptl::AccumulateOp op, ptl::AccumulateOp expected);
  mlir::LogicalResult results(mlir::func::ReturnOp op);
  mlir::LogicalResult declaredResult(mlir::func::ReturnOp op, unsigned index);
  sharding::Sharding readSharding(mlir::Attribute attribute, mlir::Value global) const;
  mlir::LogicalResult define(mlir::Operation *op, unsigned result, mlir::Value value,
                             const sharding::Sharding &sharding);

  // Moves (VerifyCollectives.cpp).
  mlir::LogicalResult move(mlir::Operation *op);
  mlir::FailureOr<sharding::Sharding> moved(mlir::Operation *op, const Part &part);
  bool isPaddingMask(spmd::MaskOp op, mlir::Operation *expected);
  mlir::LogicalResult mask(spmd::MaskOp op);

  // Operations of the global program (VerifyOperations.cpp).
  mlir::LogicalResult operation(mlir::Operation *op, mlir::Operation *expected);
  mlir::LogicalResult checkPadding(mlir::Operation *op, const ShardingRule &rule);
  mlir::LogicalResult checkOperandPadding(mlir::Operation *op, const ShardingRule &rule,
                                          unsigned operand);
  mlir::LogicalResult microbatch(ptl::MicrobatchOp op, ptl::MicrobatchOp expected);
  mlir::LogicalResult optimize(ptl::OptimizeOp op, ptl::OptimizeOp expected);

  // The norm of all gradients (VerifyNorm.cpp).
  mlir::LogicalResult norm(mlir::Operation *op, ptl::GlobalNormOp expected, bool &matched);
  mlir::FailureOr<NormShare> normShare(mlir::Operation *op);
  mlir::FailureOr<NormShare> squaresOf(mlir::Operation *op);
  bool isComplete(const NormShare &share, ptl::GlobalNormOp expected) const;

  const sharding::Mesh &mesh;
  mlir::func::FuncOp global, local;
  llvm::DenseMap<mlir::Value, Part> parts;
  llvm::DenseMap<mlir::Value, NormShare> shares;
  llvm::StringMap<unsigned> kept; ///< arguments that come back as results, by role and path
};

/// "[dp, tp]".
std::string listText(const sharding::Mesh &mesh, llvm::ArrayRef<sharding::AxisId> axes);
/// The attribute that says where a rank's part of cut dimensions lies, or null.
spmd::CutsAttr cutsOf(mlir::Operation *op);
/// Its name: "cuts" of a mask, else "cut".
llvm::StringRef cutsName(mlir::Operation *op);
/// The value that a directive's `spmd.constrain` passes on.
mlir::Value constrained(mlir::Value value);

} // namespace ptlc::shard

#endif // PTLC_COMPILER_TRANSFORMS_SHARD_SHARDINGVERIFIER_H
