//===- Recompute.h - Cheap values are computed where they are needed ------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_FUSE_RECOMPUTE_H
#define PTLC_COMPILER_TRANSFORMS_FUSE_RECOMPUTE_H

#include "compiler/Transforms/Fuse/Groups.h"

namespace ptlc::fuse {

/// Copies cheap operations into the groups that read their results, where that reads no more large
/// values than loading the result would, and keeps at most one more alive.
void recomputeCheapValues(mlir::Block &block, Groups &groups);

} // namespace ptlc::fuse

#endif // PTLC_COMPILER_TRANSFORMS_FUSE_RECOMPUTE_H
