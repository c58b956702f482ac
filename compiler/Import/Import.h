//===- Import.h - From a checked program to the ptl dialect -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The importer makes the stages `model` and `flat`; `flat` is a module with
//   @loss(weights, data fields, step [, valid]) -> (loss, metrics)
//   @eval    the same with drop-out off, when `train` evaluates
//   @logits  for one sequence, when the model has `fn logits`
// and what `train` and the chosen plan say as attributes with locations.
// compiler/doc/Import.md describes both.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_IMPORT_IMPORT_H
#define PTLC_COMPILER_IMPORT_IMPORT_H

#include "lang/Sema/Program.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace ptlc {

/// Which stage an import makes.
enum class ImportStage {
  Model, ///< a function for each function of the program, to look at
  Flat   ///< all calls expanded: what the passes take
};

/// Translates `program` under `plan`. `sampling` is the same program with a batch of one, or null
/// when it can't be sampled. Reports what can't be translated on `diags` and returns null then.
mlir::OwningOpRef<mlir::ModuleOp>
importProgram(mlir::MLIRContext &context, const sema::Program &program,
              const sema::Program *sampling, const sema::PlanSpec &plan,
              const lang::SourceManager &sources, lang::DiagnosticEngine &diags,
              ImportStage stage = ImportStage::Flat);

} // namespace ptlc

#endif // PTLC_COMPILER_IMPORT_IMPORT_H
