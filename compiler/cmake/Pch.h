//===- Pch.h - The precompiled header of everything that uses MLIR --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Parsing these headers is most of a file's compile time. Files still include
// what they use; this only makes it cheap.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_CMAKE_PCH_H
#define PTLC_COMPILER_CMAKE_PCH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#endif // PTLC_COMPILER_CMAKE_PCH_H
