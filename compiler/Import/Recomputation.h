//===- Recomputation.h - Rules of `remat` as attributes ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_IMPORT_RECOMPUTATION_H
#define PTLC_COMPILER_IMPORT_RECOMPUTATION_H

#include "lang/Sema/Program.h"
#include "mlir/IR/Builders.h"

namespace ptlc::import {

/// Returns the list `remat` of `ptl.plan`; the keys are listed in compiler/doc/Import.md. A rule
/// without a path speaks of the parts of stacks, in a model without stacks of the model's parts.
mlir::ArrayAttr rematAttribute(mlir::OpBuilder &builder, const sema::Program &program,
                               const sema::PlanSpec &plan, const lang::SourceManager &sources);

} // namespace ptlc::import

#endif // PTLC_COMPILER_IMPORT_RECOMPUTATION_H
