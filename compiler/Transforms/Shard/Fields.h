//===- Fields.h - Data fields of one device ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The runtime divides the batch by micro-batches first; a rank holds its share of
// each, one behind the other. A field that nothing reads is loaded like the rest.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_SHARD_FIELDS_H
#define PTLC_COMPILER_TRANSFORMS_SHARD_FIELDS_H

#include "compiler/Analysis/Sharding/Mesh.h"
#include "dialects/Ptl/Ptl.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ptlc::shard {

/// Returns into how many micro-batches an argument is divided: 1 if it isn't the data of a training
/// step.
int64_t piecesOf(mlir::BlockArgument argument);

/// Returns the type of a rank's share of a field of type `global` in `pieces` micro-batches.
mlir::RankedTensorType fieldType(mlir::RankedTensorType global, int64_t pieces,
                                 const sharding::Mesh &mesh, const sharding::Sharding &sharding);

/// Gives the fields of a program for one device room for whole micro-batches.
void padFields(mlir::func::FuncOp function);

} // namespace ptlc::shard

#endif // PTLC_COMPILER_TRANSFORMS_SHARD_FIELDS_H
