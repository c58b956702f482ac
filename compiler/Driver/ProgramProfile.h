//===- ProgramProfile.h - From a file and a plan to a profile ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_PROGRAMPROFILE_H
#define PTLC_COMPILER_DRIVER_PROGRAMPROFILE_H

#include "compiler/Analysis/Cost/StepTime.h"
#include "compiler/Driver/Frontend.h"
#include "mlir/IR/MLIRContext.h"

namespace ptlc {

/// Compiles programs as far as their costs need it: to stage `spmd`, without code, and without
/// memory for any tensor.
class ProgramProfiler {
public:
  ProgramProfiler();

  /// Profiles `program` under what `plan` says of shards and micro-batches. Storage, recomputation,
  /// precision and stages aren't compiled: they are laws of the cost model. Returns nullopt after
  /// messages, on standard error or in `frontend`.
  std::optional<cost::Profile> run(Frontend &frontend, const sema::Program &program,
                                   const sema::PlanSpec &plan, bool half, cost::Kernels kernels);

private:
  mlir::MLIRContext context;
};

/// Returns `plan` with what the profile is taken of: its shards and micro-batches, on a mesh whose
/// pipeline axis has one rank.
sema::PlanSpec shardsOf(const sema::PlanSpec &plan);

/// What `plan` says that the profile doesn't hold, over the axes of `profile`. Reports on
/// `diagnostics` what can't be estimated, and returns nullopt then.
std::optional<cost::Layout> layoutOf(const sema::Program &program, const sema::PlanSpec &plan,
                                     const cost::Profile &profile,
                                     lang::DiagnosticEngine &diagnostics);

/// Whether `plan` stores values in two bytes; nullopt after a message on `diagnostics`.
std::optional<bool> isHalf(const sema::PlanSpec &plan, lang::DiagnosticEngine &diagnostics);

/// The machine that `spec` describes. What it doesn't say is that of an A100; bandwidth grows with
/// the peak.
cost::Machine machineOf(const sema::ClusterSpec &spec);

/// The order of axes, of all orders, in which a step is fastest; that of `place` if it is given.
std::vector<int> bestOrder(const sema::PlanSpec &plan, const cost::Profile &profile,
                           const cost::Layout &layout, const cost::Times &times);

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_PROGRAMPROFILE_H
