//===- OutlineCalls.h - Functions as they are written -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_IMPORT_OUTLINECALLS_H
#define PTLC_COMPILER_IMPORT_OUTLINECALLS_H

#include "lang/Sema/Program.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace ptlc::import {

/// The call of the graph that each operation was built for.
using CallOf = llvm::DenseMap<mlir::Operation *, sema::CallId>;

/// The functions made so far, by what is called: variants differ in types or in what they compute.
using Outlined = llvm::StringMap<llvm::SmallVector<mlir::func::FuncOp>>;

/// Moves the operations of each call of `graph` out of `function` into one named after what is
/// called
/// ("Block.forward"), which takes weights as arguments with their paths below the part. Calls that
/// compute the same, such as those of a stack's equal parts, share one.
void outlineCalls(mlir::func::FuncOp function, const sema::Program &program,
                  const sema::Graph &graph, CallOf callOf, Outlined &outlined);

} // namespace ptlc::import

#endif // PTLC_COMPILER_IMPORT_OUTLINECALLS_H
