//===- Passes.h - From the global view to one rank --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_SHARD_PASSES_H
#define PTLC_COMPILER_TRANSFORMS_SHARD_PASSES_H

#include "dialects/Spmd/Spmd.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace ptlc::shard {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Transforms/Shard/Passes.h.inc"

} // namespace ptlc::shard

#endif // PTLC_COMPILER_TRANSFORMS_SHARD_PASSES_H
