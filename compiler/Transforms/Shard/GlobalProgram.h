//===- GlobalProgram.h - The program before it was cut ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_SHARD_GLOBALPROGRAM_H
#define PTLC_COMPILER_TRANSFORMS_SHARD_GLOBALPROGRAM_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace ptlc::shard {

/// A copy of a module, made by the pass that cuts it (as an analysis, which that pass preserves),
/// for the one that verifies what came of it.
class GlobalProgram {
public:
  explicit GlobalProgram(mlir::Operation *module)
      : copy(mlir::cast<mlir::ModuleOp>(module->clone())) {}

  mlir::ModuleOp getModule() { return copy.get(); }

private:
  mlir::OwningOpRef<mlir::ModuleOp> copy;
};

} // namespace ptlc::shard

#endif // PTLC_COMPILER_TRANSFORMS_SHARD_GLOBALPROGRAM_H
