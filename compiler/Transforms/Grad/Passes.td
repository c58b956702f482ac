//===- Passes.td - The training step made explicit -------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_GRAD_PASSES_TD
#define PTLC_COMPILER_TRANSFORMS_GRAD_PASSES_TD

include "mlir/Pass/PassBase.td"

def BuildStep : Pass<"grad-build-step", "::mlir::ModuleOp"> {
  let summary = "Turns the loss into a training step";
  let description = [{
    Replaces `@loss` by `@step`: counts that depend on data alone, micro-batches
    with forward and backward, the norm, clipping and one optimizer operation per
    group and kind of decay.

    Before:  func.func @loss(weights, data, %step) -> (loss, metrics)
    After:   func.func @step(weights, states, data, %step, hypers) -> (weights, states, loss, grad_norm, metrics) {
               %total = ptl.accumulate pieces n (%k) -> .. { count of valid targets }
               %sums:m = ptl.accumulate pieces n (%k) -> .. { loss, metrics, gradients of piece k }
               %norm = ptl.global_norm ..
               .. = ptl.optimize ..
               return .. }

    Requires: module attributes `ptl.train` and `ptl.plan`; a loss that is linear in its totals over the
    batch if there is more than one micro-batch.
    Keeps: `@eval` and `@logits`; the loss and its gradient, up to the order of sums.
  }];
  let options = [Option<"returnGradients", "return-gradients", "bool", "false",
                        "Return the gradients, too, after the metrics (for tests)">];
  let dependentDialects = ["::ptlc::ptl::PtlDialect", "::ptlc::spmd::SpmdDialect"];
}

#endif // PTLC_COMPILER_TRANSFORMS_GRAD_PASSES_TD
