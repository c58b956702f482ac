//===- Promises.h - What a plan asserts -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_PROMISES_H
#define PTLC_COMPILER_DRIVER_PROMISES_H

#include "compiler/Driver/Variants.h"

namespace ptlc {

/// Checks `assert traffic` (bytes that a rank sends in a step, over an axis or all) and `assert
/// memory` (bytes of a rank's arena at its peak) of the plan. Fails with an error at each line that
/// doesn't hold, which says what it is and what contributes most, of memory also which directive
/// would make it hold. `module` is the program under `plan`, at stage `memory`.
mlir::LogicalResult checkPromises(mlir::ModuleOp module, const Variants &variants,
                                  const sema::PlanSpec &plan);

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_PROMISES_H
