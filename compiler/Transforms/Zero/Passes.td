//===- Passes.td - Where weights, gradients and states live ----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_ZERO_PASSES_TD
#define PTLC_COMPILER_TRANSFORMS_ZERO_PASSES_TD

include "mlir/Pass/PassBase.td"

def SplitStorage : Pass<"zero-split-storage", "::mlir::ModuleOp"> {
  let summary = "Splits optimizer states, gradients and weights over ranks, as the plan's `zero` says";
  let description = [{
    The weights of one optimizer form flat buckets. Each rank keeps, and updates, one part of a
    bucket: gradients are reduce-scattered instead of all-reduced, new weights all-gathered. States
    are arguments of the size of a part. From level 2 on a gradient is reduce-scattered in each
    micro-batch and accumulated as a part, unless the plan is `reproducible` or has a pipeline; see compiler/doc/Zero.md.

    The norm of split gradients is the root of exact sums (`spmd.square_sum`), which add up to the
    same bits however they are split.

    Before:  %g = spmd.all_reduce sum %dw over @mesh [dp]
             %n = ptl.global_norm %g
             %w1, %m1 = ptl.optimize lion weights(%w) grads(%g) states(%m) ...
    After:   %g = spmd.bucket_reduce_scatter sum %dw over @mesh [dp]
             %s = spmd.square_sum %g members [[tensor<8x4xf32>]]
             %t = spmd.all_reduce sum %s over @mesh [dp]
             %n = spmd.root %t
             %p = spmd.bucket_slice %w over @mesh [dp]
             %p1, %m1 = ptl.optimize lion weights(%p) grads(%g) states(%m) ...
             %w1 = spmd.bucket_all_gather %p1 over @mesh [dp]

    Requires: per-device shapes, gradients finished by all-reduces of their own. Keeps: every weight,
    bit for bit, with one micro-batch or under `reproducible`.
  }];
  let options = [Option<"leastBytes", "least-bytes", "int64_t", /*default=*/"262144",
                        "Smallest bucket without the plan's `bucket`, in bytes: smaller layers share one">];
  let dependentDialects = ["::ptlc::spmd::SpmdDialect"];
}

#endif // PTLC_COMPILER_TRANSFORMS_ZERO_PASSES_TD
