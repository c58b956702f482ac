//===- Passes.td - Composites to primitives --------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_EXPAND_PASSES_TD
#define PTLC_COMPILER_TRANSFORMS_EXPAND_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExpandComposites : Pass<"ptl-expand-composites"> {
  let summary = "Replaces composite operations by their definitions";
  let description = [{
    Every operation with an expansion becomes its primitives: the reference that
    fused forms are compared with.

    Before:  %y = ptl.softmax %x over d : tensor<4xf32, ...> -> tensor<4xf32, ...>
    After:   reduce max, sub, exp, reduce sum, recip, mul

    Requires: types that aren't local along an expanded dimension.
    Keeps: every value, up to rounding.
  }];
  let options = [ListOption<"only", "only", "std::string",
                            "Names of the operations to expand, such as ptl.softmax; all if empty">];
  let dependentDialects = ["::ptlc::ptl::PtlDialect"];
}

#endif // PTLC_COMPILER_TRANSFORMS_EXPAND_PASSES_TD
