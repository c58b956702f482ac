//===- Passes.h - The training step made explicit ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_GRAD_PASSES_H
#define PTLC_COMPILER_TRANSFORMS_GRAD_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace ptlc::grad {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Transforms/Grad/Passes.h.inc"

} // namespace ptlc::grad

#endif // PTLC_COMPILER_TRANSFORMS_GRAD_PASSES_H
