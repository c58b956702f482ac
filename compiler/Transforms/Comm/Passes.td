//===- Passes.td - Collectives merged and ordered --------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_COMM_PASSES_TD
#define PTLC_COMPILER_TRANSFORMS_COMM_PASSES_TD

include "mlir/Pass/PassBase.td"

def CombineAllReduces : Pass<"comm-combine-all-reduces", "::mlir::ModuleOp"> {
  let summary = "Buckets neighbouring all-reduces into one collective";
  let description = [{
    What a call costs whatever it carries dominates small all-reduces, so this pass moves each
    behind the operation that makes its operand, and merges those of one block that share kind,
    mesh, axes and type of elements, up to the plan's `bucket` or else `bucket-bytes` per
    collective. Operands stay where they are: nothing is packed. The ledger of a merged one
    keeps place and reason of each member.

    Before:  %0 = spmd.all_reduce sum %a over @mesh [dp] reason "r" : tensor<4xf32>
             %1 = spmd.all_reduce sum %b over @mesh [dp] reason "s" : tensor<8xf32>
    After:   %0:2 = spmd.all_reduce sum %a, %b over @mesh [dp] reason "2 values travel together"
                      {members = [#spmd.member<"m.ptl:3:7" because "r">, ...]}

    Requires: per-device shapes. Keeps: every value, bit for bit, since each element is still
    folded by ascending rank.
  }];
  let options = [Option<"bucketBytes", "bucket-bytes", "int64_t", /*default=*/"26214400",
                        "Largest payload of one merged collective, in bytes">];
  let dependentDialects = ["::ptlc::spmd::SpmdDialect"];
}

def FinishInLoop : Pass<"comm-finish-in-loop", "::mlir::ModuleOp"> {
  let summary = "Sums gradients in the loop over micro-batches, if there is one and the plan has `overlap`";
  let description = [{
    Moves all-reduces, scatters of buckets and masks that read nothing but sums of the loop, and
    are all that reads these, into it, where the backward goes on beside them.

    Before:  %s = ptl.accumulate pieces 1 (%k) -> !g { ... ptl.yield %g : !g }
             %h = spmd.all_reduce sum %s over @mesh [dp] : !g -> !g
    After:   %s = ptl.accumulate pieces 1 (%k) -> !g {
               ...
               %h = spmd.all_reduce sum %g over @mesh [dp] : !g -> !g
               ptl.yield %h : !g
             }

    Requires: per-device shapes. Keeps: every value, bit for bit, and what is sent.
  }];
  let dependentDialects = ["::ptlc::spmd::SpmdDialect"];
}

def StartCollectives : Pass<"comm-start-collectives", "::mlir::ModuleOp"> {
  let summary = "Lets collectives run beside kernels, if the plan has `overlap`";
  let description = [{
    Splits all-reduces and collectives on buckets into a start and a rt.wait where a kernel
    stands between what makes their operands and what first reads their results. Sums start when
    their last operand is known. Gathers of weights start one bucket ahead, if about one bucket
    more is whole there than where they stood. What is scattered is waited for
    in front of the next scatter. No collective is on its way at the border of two stage functions.

    Before:  %g = rt.kernel matmul(%x, %dy) ... -> !g
             %d = rt.kernel matmul(%dy, %w) ... -> !d
             %h = spmd.all_reduce sum %g over @mesh [dp] : !g -> !g
    After:   %g = rt.kernel matmul(%x, %dy) ... -> !g
             %s = spmd.all_reduce sum %g over @mesh [dp] {rt.started} : !g -> !g
             %d = rt.kernel matmul(%dy, %w) ... -> !d
             %h = rt.wait %s : !g -> !g

    Requires: kernels. Keeps: every value, bit for bit, and what is sent.
  }];
  let dependentDialects = ["::ptlc::rt::RtDialect"];
}

#endif // PTLC_COMPILER_TRANSFORMS_COMM_PASSES_TD
