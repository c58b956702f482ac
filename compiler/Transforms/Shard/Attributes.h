//===- Attributes.h - Shardings as attributes -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_SHARD_ATTRIBUTES_H
#define PTLC_COMPILER_TRANSFORMS_SHARD_ATTRIBUTES_H

#include "compiler/Analysis/Sharding/Mesh.h"
#include "dialects/Spmd/Spmd.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace ptlc::shard {

/// Names of the attributes that stage `sharded` and `spmd` use.
inline constexpr llvm::StringLiteral kSharding = "spmd.sharding";   ///< of an argument or result
inline constexpr llvm::StringLiteral kShardings = "spmd.shardings"; ///< of an operation's results
inline constexpr llvm::StringLiteral kOrigins = "spmd.origins";     ///< why, per result
inline constexpr llvm::StringLiteral kGlobalType = "spmd.global_type"; ///< of an argument or result
inline constexpr llvm::StringLiteral kPieces = "spmd.pieces"; ///< micro-batches of a data field

/// The names of axes, for messages: "dp, tp".
std::string axesText(const sharding::Mesh &mesh, llvm::ArrayRef<sharding::AxisId> axes);

/// Returns the module's mesh for the analysis, without axes if it has none.
sharding::Mesh readMesh(mlir::ModuleOp module);

spmd::AxesAttr toAttribute(mlir::MLIRContext *context, const sharding::Mesh &mesh,
                           llvm::ArrayRef<sharding::AxisId> axes);
spmd::ShardingAttr toAttribute(mlir::MLIRContext *context, const sharding::Mesh &mesh,
                               const sharding::Sharding &sharding);
/// Checks that every argument and every result in `function` carries a sharding that fits its type
/// and the mesh, as propagation leaves them. Fails with a diagnostic at the first that doesn't.
mlir::LogicalResult checkAnnotations(mlir::func::FuncOp function, const sharding::Mesh &mesh);

/// Of an attribute that has been checked.
sharding::Sharding fromAttribute(const sharding::Mesh &mesh, spmd::ShardingAttr attribute);

} // namespace ptlc::shard

#endif // PTLC_COMPILER_TRANSFORMS_SHARD_ATTRIBUTES_H
