//===- Collectives.h - What ranks do together, for the runtime -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_CODEGEN_COLLECTIVES_H
#define PTLC_COMPILER_CODEGEN_COLLECTIVES_H

#include "compiler/Codegen/Places.h"
#include "llvm/Support/JSON.h"

namespace ptlc::codegen {

/// The element type's name in runtime/doc/ABI.md.
const char *elementName(mlir::Type tensor);

/// A layout of runtime/doc/ABI.md: where a value lies in the arena.
llvm::json::Object layoutOf(mlir::Value value, const Places &places);

/// Emits an error if `op` is no collective that the runtime knows, or reduces several element types
/// in one.
llvm::LogicalResult checkCollective(mlir::Operation *op);

/// An entry of `collectives` of runtime/doc/ABI.md; `times` is how often a step runs it.
/// Requires checkCollective(op).
llvm::json::Object describeCollective(mlir::Operation *op, const Places &places, int64_t times);

} // namespace ptlc::codegen

#endif // PTLC_COMPILER_CODEGEN_COLLECTIVES_H
