//===- Passes.td - Types of storage and of sums ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_PRECISION_PASSES_TD
#define PTLC_COMPILER_TRANSFORMS_PRECISION_PASSES_TD

include "mlir/Pass/PassBase.td"

def InsertCasts : Pass<"precision-insert-casts", "::mlir::ModuleOp"> {
  let summary = "Stores what the plan's `precision` names in bf16, and computes it in f32";
  let description = [{
    The arguments `weight` and `state` stay f32: they are the masters. A step casts the weights
    that it computes with once, where it begins; other functions do where they use them. Matrix products and attention read and
    write bf16; everything else widens what it reads, computes in f32 and rounds its result once.
    What an element-wise operation or a sum alone reads isn't rounded at all. Sums, statistics of
    norms, losses and metrics stay f32. The gradient of a weight is bf16, or f32 if it is added up
    over several micro-batches or several uses.

    Before:  %y = ptl.dot %x, %w over [embed] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
             %z = ptl.elementwise add %y, %b : (tensor<4x2xf32>, ...) -> tensor<4x2xf32>
    After:   %w16 = ptl.elementwise cast %w : (tensor<8x2xf32>) -> tensor<8x2xbf16>
             %y = ptl.dot %x, %w16 over [embed] : (tensor<4x8xbf16>, ...) -> tensor<4x2xbf16>
             %y32 = ptl.elementwise cast %y : (tensor<4x2xbf16>) -> tensor<4x2xf32>
             %z = ptl.elementwise add %y32, %b32 : ...
             %z16 = ptl.elementwise cast %z : (tensor<4x2xf32>) -> tensor<4x2xbf16>

    Requires: global shapes; the functions of stage `train`. Keeps: types of arguments and results
    of functions; every value up to rounding. Without a rule it changes nothing.
  }];
  let dependentDialects = ["::ptlc::ptl::PtlDialect"];
}

#endif // PTLC_COMPILER_TRANSFORMS_PRECISION_PASSES_TD
