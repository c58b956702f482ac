//===- Collapse.h - Neighbouring dimensions as one ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Heads and their depth, or batch and sequence, lie behind each other in memory
// in most kernels; as one dimension they make longer innermost loops and cheaper
// row indices.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_ANALYSIS_KERNEL_COLLAPSE_H
#define PTLC_COMPILER_ANALYSIS_KERNEL_COLLAPSE_H

#include "compiler/Analysis/Kernel/Graph.h"

namespace ptlc::kernel {

/// Strides of arguments and outputs, along the dimensions of their types.
using StrideLists = std::vector<llvm::SmallVector<int64_t, 4>>;

/// Merges pairs of dimensions that all values have together, all operations treat alike and all
/// tensors hold as one. Updates `arguments` and `outputs`.
void collapseDims(Graph &graph, StrideLists &arguments, StrideLists &outputs);

} // namespace ptlc::kernel

#endif // PTLC_COMPILER_ANALYSIS_KERNEL_COLLAPSE_H
