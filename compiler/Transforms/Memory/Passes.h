//===- Passes.h - Where values lie in the arena -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_MEMORY_PASSES_H
#define PTLC_COMPILER_TRANSFORMS_MEMORY_PASSES_H

#include "dialects/Rt/Rt.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace ptlc::memory {

#define GEN_PASS_DECL
#include "compiler/Transforms/Memory/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/Transforms/Memory/Passes.h.inc"

} // namespace ptlc::memory

#endif // PTLC_COMPILER_TRANSFORMS_MEMORY_PASSES_H
