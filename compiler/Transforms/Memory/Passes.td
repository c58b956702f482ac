//===- Passes.td - Where values lie in the arena ---------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_TRANSFORMS_MEMORY_PASSES_TD
#define PTLC_TRANSFORMS_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlanBuffers : Pass<"memory-plan-buffers", "::mlir::ModuleOp"> {
  let summary = "Gives every value a place in the arena";
  let description = [{
    Sets `rt.buffers` on arguments and operations and `rt.memory` on the module.
    Weights, states, gradients, data and scalars are persistent; values of a
    micro-batch share memory by lifetime. Kernels write in place where their
    plan allows it; what a loop over micro-batches yields is written straight
    to its sum. Inserts copies where a value would need two places.

    Before:  %1 = rt.kernel rows(%0) ...
    After:   %1 = rt.kernel rows(%0) ... {rt.buffers = [#rt.buffer<micro, offset = 0, ...>]}

    Requires: kernels, views, collectives and accumulate only. Keeps: every value.
  }];
  let dependentDialects = ["::ptlc::rt::RtDialect"];
}

#endif // PTLC_TRANSFORMS_MEMORY_PASSES_TD
