//===- Passes.td - From operations to kernels ------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_TRANSFORMS_FUSE_PASSES_TD
#define PTLC_TRANSFORMS_FUSE_PASSES_TD

include "mlir/Pass/PassBase.td"

def OutlineSingle : Pass<"fuse-outline-single", "::mlir::ModuleOp"> {
  let summary = "Puts every operation into a kernel of its own";
  let description = [{
    Afterwards each function holds kernels, collectives, views (reshape,
    microbatch), `ptl.accumulate` and `ptl.global_norm` only. Contractions become
    matmul kernels where a matrix product fits, else rows kernels; composites
    are expanded inside of their kernel.

    Before:  %1 = ptl.elementwise add %a, %b : ...
    After:   %1 = rt.kernel rows(%a, %b) iterate [batch] : ... { ... }

    Requires: local shapes. Keeps: every value.
  }];
  let dependentDialects = ["::ptlc::rt::RtDialect"];
}

#endif // PTLC_TRANSFORMS_FUSE_PASSES_TD
