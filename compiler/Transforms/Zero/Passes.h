//===- Passes.h - Where weights, gradients and states live ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_ZERO_PASSES_H
#define PTLC_COMPILER_TRANSFORMS_ZERO_PASSES_H

#include "dialects/Spmd/Spmd.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace ptlc::zero {

#define GEN_PASS_DECL
#include "compiler/Transforms/Zero/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/Transforms/Zero/Passes.h.inc"

} // namespace ptlc::zero

#endif // PTLC_COMPILER_TRANSFORMS_ZERO_PASSES_H
