//===- Passes.h - Composites to primitives ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_EXPAND_PASSES_H
#define PTLC_COMPILER_TRANSFORMS_EXPAND_PASSES_H

#include "mlir/Pass/Pass.h"

namespace ptlc::expand {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Transforms/Expand/Passes.h.inc"

} // namespace ptlc::expand

#endif // PTLC_COMPILER_TRANSFORMS_EXPAND_PASSES_H
