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

def SplitEvaluation : Pass<"grad-split-evaluation", "::mlir::ModuleOp"> {
  let summary = "Divides totals of an evaluation once, for all of its batches";
  let description = [{
    The body of a loop over the batches of an evaluation computes totals over rows; what is made of
    totals (means, and whatever the loss does with them) stands behind it.

    Before:  func.func @eval(..) { %s = sum of rows; %n = count of rows; %l = %s / %n; return %l }
    After:   func.func @eval(..) {
               %t:2 = ptl.accumulate pieces 1 (%k) -> .. { sum and count; ptl.yield } {ptl.over_batches}
               %l = %t#0 / %t#1
               return %l }

    Requires: stage `train`. Keeps: the function's value for one batch; functions that hand on anything
    but sums over rows, or that know no number of valid samples, stay as they are.
  }];
  let dependentDialects = ["::ptlc::ptl::PtlDialect"];
}

#endif // PTLC_COMPILER_TRANSFORMS_GRAD_PASSES_TD
