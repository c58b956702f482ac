//===- ProgramAttributes.h - train and plan as attributes -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_IMPORT_PROGRAMATTRIBUTES_H
#define PTLC_COMPILER_IMPORT_PROGRAMATTRIBUTES_H

#include "compiler/Import/Directives.h"
#include "lang/Sema/Program.h"
#include "mlir/IR/Builders.h"

namespace ptlc::import {

/// Returns `file:line:column` of a range, as attributes carry places.
std::string placeOf(lang::SourceRange range, const lang::SourceManager &sources);

/// Returns the `train` block as a dictionary; the keys are listed in compiler/doc/Import.md.
/// `padsEvaluation`: the last batch of an evaluation may be short, so that all data are evaluated
/// unless the program says otherwise.
mlir::DictionaryAttr trainAttribute(mlir::OpBuilder &builder, const sema::Program &program,
                                    const lang::SourceManager &sources, bool padsEvaluation);

/// Returns the plan as a dictionary: mesh with links, shard rules, micro-batches, promises.
mlir::DictionaryAttr planAttribute(mlir::OpBuilder &builder, const sema::Program &program,
                                   const sema::PlanSpec &plan, const Directives &directives,
                                   const lang::SourceManager &sources);

/// Returns a weight's initial value as {kind, a, b}.
mlir::DictionaryAttr initAttribute(mlir::OpBuilder &builder, const sema::InitialValue &init);

} // namespace ptlc::import

#endif // PTLC_COMPILER_IMPORT_PROGRAMATTRIBUTES_H
