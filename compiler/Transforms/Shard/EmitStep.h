//===- EmitStep.h - Steps of a reshard as operations ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_SHARD_EMITSTEP_H
#define PTLC_COMPILER_TRANSFORMS_SHARD_EMITSTEP_H

#include "compiler/Analysis/Sharding/ReshardSteps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace ptlc::shard {

/// Emits the operation that carries out `step` on `local`, a rank's part of a value of type
/// `global`, over the mesh `@mesh`. `reason` is for the ledger; what sends nothing has none.
mlir::Value emitStep(mlir::OpBuilder &builder, mlir::Location loc, const sharding::Mesh &mesh,
                     const sharding::Step &step, mlir::Value local, mlir::RankedTensorType global,
                     mlir::StringAttr reason);

} // namespace ptlc::shard

#endif // PTLC_COMPILER_TRANSFORMS_SHARD_EMITSTEP_H
