//===- OptimizerGraph.h - Update rules as kernel graphs -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_ANALYSIS_KERNEL_OPTIMIZERGRAPH_H
#define PTLC_COMPILER_ANALYSIS_KERNEL_OPTIMIZERGRAPH_H

#include "compiler/Analysis/Kernel/Graph.h"
#include "dialects/Ptl/Ptl.h"

namespace ptlc::kernel {

/// The update of `rows` x `cols` elements. Arguments: weight, gradient, states, those
/// hyper-parameters that are no constants, in the order of ptl.optimize, step. Outputs: weight,
/// states.
Graph optimizerGraph(ptl::OptimizeOp op, int64_t rows, int64_t cols);

} // namespace ptlc::kernel

#endif // PTLC_COMPILER_ANALYSIS_KERNEL_OPTIMIZERGRAPH_H
