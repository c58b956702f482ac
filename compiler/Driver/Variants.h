//===- Variants.h - What a program would need under other plans -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Variants of a plan are compiled as far as memory is planned, which takes a fraction
// of a second, and thrown away. So what is said of a directive is what it would do.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_VARIANTS_H
#define PTLC_COMPILER_DRIVER_VARIANTS_H

#include "lang/Sema/Program.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace ptlc {

class Variants {
public:
  /// `sampling` is the program with a batch of one, or null.
  Variants(mlir::MLIRContext &context, const sema::Program &program, const sema::Program *sampling,
           const lang::SourceManager &sources)
      : context(context), program(program), sampling(sampling), sources(sources) {}

  /// Returns the program at stage `memory`, or null if it can't be compiled so; nothing is
  /// reported. `remat` replaces the plan's list of that name.
  mlir::OwningOpRef<mlir::ModuleOp> plan(const sema::PlanSpec &plan,
                                         mlir::ArrayAttr remat = {}) const;
  /// Returns the bytes of the arena under a plan, or nullopt if it can't be compiled.
  std::optional<int64_t> arenaBytes(const sema::PlanSpec &plan, mlir::ArrayAttr remat = {}) const;

  const sema::Program &getProgram() const { return program; }
  const lang::SourceManager &getSources() const { return sources; }

private:
  mlir::MLIRContext &context;
  const sema::Program &program;
  const sema::Program *sampling;
  const lang::SourceManager &sources;
};

/// Returns the bytes of the arena at stage `memory`, of a pipeline's ranks the largest one's.
int64_t largestArena(mlir::ModuleOp module);

/// Replaces the list `remat` of the module's plan.
void setRemat(mlir::ModuleOp module, mlir::ArrayAttr remat);

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_VARIANTS_H
