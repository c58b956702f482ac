//===- Passes.td - Where values lie in the arena ---------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_TRANSFORMS_MEMORY_PASSES_TD
#define PTLC_TRANSFORMS_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def Recompute : Pass<"memory-recompute", "::mlir::ModuleOp"> {
  let summary = "Computes values of the forward again in the backward";
  let description = [{
    Follows the list `remat` of `ptl.plan`. In each part that a rule names, operations
    of its kinds may be computed again: the smallest set of values is kept from which
    the backward gets what it reads. Copies stand in front of the first reader and read
    kept values through `rt.optimization_barrier`. Sets `rt.recomputed` on the module:
    the parts with the FLOPs and the bytes of what they compute again.

    Before:  %a = ptl.elementwise gelu %u        // forward
             ...
             %g = ptl.dot %dy, %a                // backward
    After:   %a = ptl.elementwise gelu %u
             ...
             %v = rt.optimization_barrier "blocks.0" %u
             %b = ptl.elementwise gelu %v
             %g = ptl.dot %dy, %b

    Requires: `@step` as `grad-build-step` makes it, local shapes.
    Keeps: every value, bit for bit; collectives in the same order on all ranks.
  }];
  let dependentDialects = ["::ptlc::rt::RtDialect"];
}

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
