// RUN: ptl-opt %s --split-input-file --verify-diagnostics --shard-propagate-shardings --shard-partition --shard-verify-sharding | FileCheck %s
// RUN: not ptl-opt %s --shard-verify-sharding 2>&1 | FileCheck %s --check-prefix=ALONE
// ALONE: there is no global program to compare with

!x = tensor<5x4xf32, #ptl.dims<[batch, embed]>>
!w = tensor<4x2xf32, #ptl.dims<[embed, ffn]>>
!y = tensor<5x2xf32, #ptl.dims<[batch, ffn]>>

// What the partitioner makes of a step with all it can do passes, and the reading of the constant, of which both axes
// would make 3 of 5 rows, is gone.
module attributes {ptl.plan = {mesh = [{name = "dp", size = 2 : i64}, {name = "tp", size = 2 : i64}],
    shard = [{dim = "batch", dims = ["batch"], axes = ["dp"], line = "m.ptl:1:1"},
             {dim = "ffn", dims = ["ffn"], axes = ["tp"], line = "m.ptl:1:9"}]}} {
  // CHECK-LABEL: func @gradient
  // CHECK-NOT: spmd.shardings
  func.func @gradient(%x: !x {ptl.role = "data", ptl.path = "x"}, %w: !w {ptl.role = "weight", ptl.path = "w"})
      -> (!w {ptl.role = "weight", ptl.path = "w"}, tensor<f32>) {
    // CHECK: ptl.constant 1 : tensor<3x1xf32
    %one = ptl.constant 1 : !y
    %y = ptl.dot %x, %w over [embed] : (!x, !w) -> !y
    %z = ptl.elementwise add %y, %one : (!y, !y) -> !y
    // CHECK: spmd.mask
    // CHECK: ptl.dot
    // CHECK: spmd.all_reduce
    %dw = ptl.dot %x, %z over [batch] : (!x, !y) -> !w
    %n = ptl.global_norm %dw : (!w) -> tensor<f32>
    return %dw, %n : !w, tensor<f32>
  }
}
