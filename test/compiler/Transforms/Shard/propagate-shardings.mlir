// RUN: ptl-opt %s --shard-propagate-shardings | FileCheck %s

!x = tensor<16x4xf32, #ptl.dims<[batch, embed]>>
!r = tensor<4x4x4xf32, #ptl.dims<[groups, local, embed]>>
!w = tensor<4x2xf32, #ptl.dims<[embed, ffn]>>

// The rule names the batch; the axis spreads to what the batch becomes, with the rule as its origin.
// A weight that no rule speaks of stays whole.
module attributes {ptl.plan = {mesh = [{name = "dp", size = 2 : i64}],
    shard = [{dim = "batch", dims = ["batch"], axes = ["dp"], line = "m.ptl:1:1"}]}} {
  // CHECK: spmd.mesh @mesh [dp = 2]
  // CHECK-LABEL: func @spreads
  // CHECK-SAME: spmd.sharding = #spmd.sharding<{{\[\[}}dp], []]>
  // CHECK-SAME: spmd.sharding = #spmd.sharding<{{\[\[}}], []]>
  func.func @spreads(%x: !x {ptl.role = "data", ptl.path = "x"}, %w: !w {ptl.role = "weight", ptl.path = "w"}) -> !r {
    // CHECK: ptl.reshape
    // CHECK-SAME: spmd.origins = ["shard batch: dp"]
    // CHECK-SAME: spmd.shardings = [#spmd.sharding<{{\[\[}}dp], [], []]>]
    %r = ptl.reshape %x [[batch] -> [groups, local]] : !x -> !r
    return %r : !r
  }
}
