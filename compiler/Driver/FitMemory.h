//===- FitMemory.h - Recomputation that keeps a promise ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// `remat auto`: of the blocks that it names each gets one of a few kinds of
// recomputation, so that the arena keeps the plan's `assert memory` at the least
// cost. The program is planned once with each kind in all blocks, which shows what
// each block keeps and works on; with that, a table over the chain of blocks gives
// the cheapest choice (Analysis/Memory/ChainPlan.h). The memory planner has the last
// word: the choice is planned, and the limit of the table moved by what was missed.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_FITMEMORY_H
#define PTLC_COMPILER_DRIVER_FITMEMORY_H

#include "compiler/Driver/Variants.h"

namespace ptlc {

/// Decides for all rules `remat auto` of `plan`; returns the list `remat` of `ptl.plan` with an
/// entry for each block in their place. Without such rules it returns null. If nothing fits, the
/// blocks compute all they can again. Null after a failure, too, which the compilation reports.
mlir::ArrayAttr fitMemory(const Variants &variants, const sema::PlanSpec &plan);

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_FITMEMORY_H
