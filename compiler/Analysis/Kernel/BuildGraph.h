//===- BuildGraph.h - From ptl operations to a kernel graph ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_ANALYSIS_KERNEL_BUILDGRAPH_H
#define PTLC_COMPILER_ANALYSIS_KERNEL_BUILDGRAPH_H

#include "compiler/Analysis/Kernel/Graph.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace ptlc::kernel {

/// Builds the graph of a block of primitives. Arguments of type index are micro-batch numbers,
/// others memory operands; the terminator's operands are the results. Fails with an error at the
/// operation that a row kernel cannot express.
mlir::FailureOr<Graph> buildGraph(mlir::Block &body, llvm::ArrayRef<mlir::StringAttr> iterate);

/// Returns whether buildGraph() knows the operation.
bool isRowPrimitive(mlir::Operation *op);

Elem elementOf(mlir::Type tensor);

} // namespace ptlc::kernel

#endif // PTLC_COMPILER_ANALYSIS_KERNEL_BUILDGRAPH_H
