//===- Report.h - What a compiled program will use --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_REPORT_H
#define PTLC_COMPILER_DRIVER_REPORT_H

#include "mlir/IR/BuiltinOps.h"

namespace ptlc {

/// Prints per rank: parameters, bytes of weights, gradients, optimizer state and activations, the
/// arena's peak, FLOPs of a step, and each collective with its line, cause, axes and bytes.
/// `module` is at stage `memory`; at an earlier stage what isn't known yet is left out.
void printReport(mlir::ModuleOp module, bool json, llvm::raw_ostream &os);

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_REPORT_H
