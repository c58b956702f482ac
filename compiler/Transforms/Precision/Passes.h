//===- Passes.h - Collectives merged and ordered ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_PRECISION_PASSES_H
#define PTLC_COMPILER_TRANSFORMS_PRECISION_PASSES_H

#include "dialects/Ptl/Ptl.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace ptlc::precision {

#define GEN_PASS_DECL
#include "compiler/Transforms/Precision/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/Transforms/Precision/Passes.h.inc"

} // namespace ptlc::precision

#endif // PTLC_COMPILER_TRANSFORMS_PRECISION_PASSES_H
