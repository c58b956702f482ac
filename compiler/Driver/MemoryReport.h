//===- MemoryReport.h - Where a step's memory peaks -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_MEMORYREPORT_H
#define PTLC_COMPILER_DRIVER_MEMORYREPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

namespace ptlc {

/// Returns where @step needs most memory for activations, what needs it there, and the bytes at
/// each operation: {"line", "bytes", "least", "values": [{"line", "dims", "count", "bytes"}],
/// "timeline": [{"line", "bytes"}]}. `least` are the bytes of buffers that live at once at most;
/// the arena has more where they don't fit together. Empty without @step. `module` is at stage
/// `memory`.
llvm::json::Object memoryPeak(mlir::ModuleOp module);

/// Prints what memoryPeak() returned, without the timeline.
void printMemoryPeak(const llvm::json::Object &peak, llvm::raw_ostream &os);

/// Returns a picture of memory over the step: what is always there, and activations on top.
std::string memorySvg(mlir::ModuleOp module);

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_MEMORYREPORT_H
