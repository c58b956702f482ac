//===- Location.h - Places in .ptl files ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Every operation carries the place of the .ptl expression that it stands for:
//   FileLineColLoc                 the expression
//   NameLoc "blocks.0.attn" at ..  the part of the model that it is in
//   CallSiteLoc                    an expression of a library, at the user's call
// These helpers read such locations back.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_SUPPORT_LOCATION_H
#define PTLC_COMPILER_SUPPORT_LOCATION_H

#include "mlir/IR/Location.h"
#include <string>

namespace ptlc {

/// Returns the place in the user's file, or null: of a call chain the outermost caller that isn't
/// in the standard library, of a fused location the first that has one.
mlir::FileLineColLoc userPlace(mlir::Location location);

/// Returns "file:line:column" of userPlace(), or "" when there is none.
std::string lineOf(mlir::Location location);

/// Returns the path of the part ("blocks.0.attn"), or "" outside of any.
llvm::StringRef partOf(mlir::Location location);

} // namespace ptlc

#endif // PTLC_COMPILER_SUPPORT_LOCATION_H
