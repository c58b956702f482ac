//===- PlanReasons.h - Why a plan uses what it uses -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_PLANREASONS_H
#define PTLC_COMPILER_DRIVER_PLANREASONS_H

#include "compiler/Analysis/Cost/Planner.h"

namespace ptlc {

/// A sentence for each mechanism of the chosen plan: the property of model and machine that asks
/// for it, and what the best plan without it would cost. `profile`: the chosen plan's.
std::vector<std::string> reasonsFor(const cost::Search &search, const cost::Profile &profile,
                                    const cost::Machine &machine);

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_PLANREASONS_H
