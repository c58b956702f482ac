//===- Rules.h - The plan's shard rules -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_SHARD_RULES_H
#define PTLC_COMPILER_TRANSFORMS_SHARD_RULES_H

#include "compiler/Analysis/Sharding/Propagation.h"

namespace ptlc::shard {

/// Reads the list `shard` of the module attribute `ptl.plan`, in its order; axes that the mesh
/// lacks (those of size 1) are dropped.
llvm::SmallVector<sharding::DimRule> readRules(const sharding::Mesh &mesh,
                                               mlir::DictionaryAttr plan);

/// Returns the dimensions that a rule of the module's plan cuts in every value.
llvm::StringSet<> cutEverywhere(const sharding::Mesh &mesh, mlir::ModuleOp module);

} // namespace ptlc::shard

#endif // PTLC_COMPILER_TRANSFORMS_SHARD_RULES_H
