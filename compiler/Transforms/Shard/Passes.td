//===- Passes.td - From the global view to one rank ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_SHARD_PASSES_TD
#define PTLC_COMPILER_TRANSFORMS_SHARD_PASSES_TD

include "mlir/Pass/PassBase.td"

def PropagateShardings : Pass<"shard-propagate-shardings", "::mlir::ModuleOp"> {
  let summary = "Decides which mesh axes cut which dimension of every value";
  let description = [{
    Reads the plan (module attribute `ptl.plan`), declares its mesh and spreads its
    `shard` rules over all functions to a fixed point. Every argument and every
    operation then carries its sharding and where that came from. Axes of size 1
    leave no trace; on one device the module stays as it is.

    Before:  %y = ptl.dot %x, %w over [embed] : ...
    After:   %y = ptl.dot %x, %w over [embed] {spmd.origins = ["shard batch: dp"],
               spmd.shardings = [#spmd.sharding<[[dp], []]>]} : ...

    Requires: global types. Keeps: every value.
  }];
  let dependentDialects = ["::ptlc::spmd::SpmdDialect"];
}

def Partition : Pass<"shard-partition", "::mlir::ModuleOp"> {
  let summary = "Rewrites the global program into what one rank computes";
  let description = [{
    In program order, each operation gets the assignment of axes to factors that
    costs least, counting the reshards of its operands and of its result. A sum
    over a cut dimension leaves the result pending; pending sums flow through
    linear operations, are added before they are reduced, and are finished once,
    before their first use that needs the whole value. Padding of unevenly cut
    dimensions is masked before each fold, in every operand. Without a mesh only
    data fields change: they get room for whole micro-batches.

    Before:  %l = ptl.reduce sum %x over [batch] : tensor<16xf32, ...> -> tensor<f32>
    After:   %a = ptl.reduce sum %x over [batch] : tensor<8xf32, ...> -> tensor<f32>
             %l = spmd.all_reduce sum %a over @mesh [dp] reason "..." : ...

    Requires: `spmd.shardings` on every operation. Keeps: every value, up to the
    order of sums over ranks.
  }];
  let dependentDialects = ["::ptlc::spmd::SpmdDialect"];
}

def VerifySharding : Pass<"shard-verify-sharding", "::mlir::ModuleOp"> {
  let summary = "Fails unless a rank's program computes the global one";
  let description = [{
    Compares the module with what it was before `shard-partition`, knowing nothing
    of how it was cut: infers how every local value lies on the mesh, from the
    declared arguments on. An error names the operation and its line, what was
    expected and what was found. Attributes `spmd.shardings`, by which the
    partitioner says which reading of a constant it meant, are dropped.

    Before:  %r = spmd.all_reduce sum %x over @mesh [dp] : ...   // %x isn't pending
    After:   error: internal error: partitioned program is wrong: 'spmd.all_reduce' over [dp]
             needs a value that waits for their sum; this one is [-]

    Requires: `shard-partition` right before. Keeps: every value.
  }];
}

#endif // PTLC_COMPILER_TRANSFORMS_SHARD_PASSES_TD
