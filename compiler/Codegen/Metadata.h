//===- Metadata.h - What the runtime reads about a program ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_CODEGEN_METADATA_H
#define PTLC_COMPILER_CODEGEN_METADATA_H

#include "compiler/Codegen/Schedule.h"
#include "compiler/Codegen/Target.h"

namespace ptlc::codegen {

/// The JSON text of runtime/doc/ABI.md.
std::string buildMetadata(mlir::ModuleOp module, const Schedule &schedule,
                          const TargetOptions &options);

} // namespace ptlc::codegen

#endif // PTLC_COMPILER_CODEGEN_METADATA_H
