//===- Savings.h - What directives would save -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_SAVINGS_H
#define PTLC_COMPILER_DRIVER_SAVINGS_H

#include "compiler/Driver/Variants.h"
#include "llvm/Support/JSON.h"

namespace ptlc {

/// What a rank's arena would be with one more directive.
struct Saving {
  std::string directive;   ///< "remat full"
  int64_t bytes = 0;       ///< of the arena
  bool isEstimate = false; ///< a formula: this compiler can't plan it yet
};

/// Plans the program with each directive that may save memory: recomputation, more micro-batches,
/// ZeRO over the axes that divide the batch, bf16. `current` is the program under `plan`, at stage
/// `memory`. Directives that the plan has, or that can't hold, are left out.
std::vector<Saving> savingsOf(const Variants &variants, const sema::PlanSpec &plan,
                              mlir::ModuleOp current);

/// Plans `remat full` with more and more micro-batches; returns what needs at most `limit` bytes,
/// or nullopt.
std::optional<Saving> fitTogether(const Variants &variants, const sema::PlanSpec &plan,
                                  double limit);

/// Returns {"directive", "arena", "saves", "estimate"} for each; `now` is the arena's size.
llvm::json::Array savingsJson(llvm::ArrayRef<Saving> savings, int64_t now);
void printSavings(llvm::ArrayRef<Saving> savings, int64_t now, llvm::raw_ostream &os);

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_SAVINGS_H
