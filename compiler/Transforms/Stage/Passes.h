//===- Passes.h - A program as stages of a pipeline -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_STAGE_PASSES_H
#define PTLC_COMPILER_TRANSFORMS_STAGE_PASSES_H

#include "dialects/Rt/Rt.h"
#include "dialects/Spmd/Spmd.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace ptlc::stage {

#define GEN_PASS_DECL
#include "compiler/Transforms/Stage/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/Transforms/Stage/Passes.h.inc"

} // namespace ptlc::stage

#endif // PTLC_COMPILER_TRANSFORMS_STAGE_PASSES_H
