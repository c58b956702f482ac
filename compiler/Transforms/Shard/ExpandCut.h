//===- ExpandCut.h - Composites along cut dimensions ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_SHARD_EXPANDCUT_H
#define PTLC_COMPILER_TRANSFORMS_SHARD_EXPANDCUT_H

#include "compiler/Analysis/Sharding/Propagation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ptlc::shard {

/// Replaces composites that need all of a dimension which is cut (the loss over a vocabulary that
/// devices share) by their primitives, whose folds may be pending. Attention stays: its scores must
/// not exist. Returns whether anything changed; then propagation must run again.
bool expandCut(mlir::func::FuncOp function, const sharding::Propagation &propagation);

} // namespace ptlc::shard

#endif // PTLC_COMPILER_TRANSFORMS_SHARD_EXPANDCUT_H
