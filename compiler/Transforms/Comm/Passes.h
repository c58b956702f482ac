//===- Passes.h - Collectives merged and ordered ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_COMM_PASSES_H
#define PTLC_COMPILER_TRANSFORMS_COMM_PASSES_H

#include "dialects/Rt/Rt.h"
#include "dialects/Spmd/Spmd.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace ptlc::comm {

#define GEN_PASS_DECL
#include "compiler/Transforms/Comm/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/Transforms/Comm/Passes.h.inc"

} // namespace ptlc::comm

#endif // PTLC_COMPILER_TRANSFORMS_COMM_PASSES_H
