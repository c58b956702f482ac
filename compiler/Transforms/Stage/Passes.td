//===- Passes.td - A program as stages of a pipeline -----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_STAGE_PASSES_TD
#define PTLC_COMPILER_TRANSFORMS_STAGE_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignStages : Pass<"stage-assign-stages", "::mlir::ModuleOp"> {
  let summary = "Says which stage of the pipeline each operation is in";
  let description = [{
    The parts that the plan's `pipeline` names are cut into as many runs as the axis has
    stages: at the parts that `cut:` names, or so that the largest is least, by FLOPs. What
    stands outside of these parts belongs to the stage that makes its operands, or uses its
    results; what comes behind the last of them is the loss. Operations get the attribute
    `ptl.part` and are put in the order of parts, so that gradients are added up from the
    last stage to the first. `@eval` and `@logits` are cut at the same parts. Without a pipeline nothing
    changes.

    Requires: stage `flat`. Keeps: every value.
  }];
}

def CutStages : Pass<"stage-cut-stages", "::mlir::ModuleOp"> {
  let summary = "Turns a step into one program for each rank of the pipeline";
  let description = [{
    The body over micro-batches becomes a loop for each part of a rank's stages (forward,
    loss, backward), values that cross stages are sent and received along the edges of a
    chain of their users, and what stands around the loop goes to the ranks that need it.
    Tied weights' sums are exchanged, the loss and the squares of the gradients' norm are
    added up over the pipeline's axis. The schedule becomes a verified table. `@eval` and
    `@logits` become the operations of a rank's stages in their order, and exchanges in one
    direction between them.

    Before:  module { func.func @step(..) { %s:n = ptl.accumulate .. { operations with ptl.part } .. } }
    After:   module attributes {rt.table = ".."} {
               module @rank0 attributes {rt.pipe_rank = 0, rt.slots = ..} {
                 func.func @step(weights of the rank, ..) {
                   %y, %stash = ptl.accumulate .. {rt.phase = #rt.phase<forward, ..>}
                   rt.send %y edge 0
                   %g = rt.receive edge 0 gradient pool 24
                   %dw = ptl.accumulate .. {rt.phase = #rt.phase<whole_backward, ..>} .. } }
               module @rank1 .. }

    Requires: stage `spmd`. Keeps: every value.
  }];
  let dependentDialects = ["::ptlc::rt::RtDialect", "::ptlc::spmd::SpmdDialect"];
}

#endif // PTLC_COMPILER_TRANSFORMS_STAGE_PASSES_TD
