//===- Passes.h - From operations to kernels --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_FUSE_PASSES_H
#define PTLC_COMPILER_TRANSFORMS_FUSE_PASSES_H

#include "dialects/Rt/Rt.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace ptlc::fuse {

#define GEN_PASS_DECL
#include "compiler/Transforms/Fuse/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/Transforms/Fuse/Passes.h.inc"

} // namespace ptlc::fuse

#endif // PTLC_COMPILER_TRANSFORMS_FUSE_PASSES_H
