//===- Links.h - Mesh axes on the links of a cluster ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_IMPORT_LINKS_H
#define PTLC_COMPILER_IMPORT_LINKS_H

#include "lang/Sema/Program.h"

namespace ptlc::import {

struct PlacedAxis {
  unsigned axis;   ///< index into PlanSpec::mesh
  double link = 1; ///< what a byte costs, 1 being the fastest link
};

/// Returns the axes of a plan's mesh, the outermost link first, which is the order that numbers
/// ranks: those that `place` names, then the others as written.
llvm::SmallVector<PlacedAxis> placeAxes(const sema::Program &program, const sema::PlanSpec &plan);

} // namespace ptlc::import

#endif // PTLC_COMPILER_IMPORT_LINKS_H
