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

#endif // PTLC_COMPILER_TRANSFORMS_COMM_PASSES_TD
