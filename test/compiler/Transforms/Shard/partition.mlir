// RUN: ptl-opt %s --split-input-file --shard-propagate-shardings --shard-partition | FileCheck %s

!x = tensor<16x4xf32, #ptl.dims<[batch, embed]>>
!w = tensor<4x2xf32, #ptl.dims<[embed, ffn]>>
!y = tensor<16x2xf32, #ptl.dims<[batch, ffn]>>

// A weight gradient folds the split batch: it stays pending until the norm needs it, and nothing else
// is reduced. The forward product keeps its share of the rows.
module attributes {ptl.plan = {mesh = [{name = "dp", size = 2 : i64}],
    shard = [{dim = "batch", dims = ["batch"], axes = ["dp"], line = "m.ptl:1:1"}]}} {
  // CHECK: spmd.mesh @mesh [dp = 2]
  // CHECK-LABEL: func @gradient
  // CHECK-SAME: %[[X:.*]]: tensor<8x4xf32
  func.func @gradient(%x: !x {ptl.role = "data", ptl.path = "x"}, %w: !w {ptl.role = "weight", ptl.path = "w"},
      %dy: !y {ptl.role = "data", ptl.path = "dy"}) -> (!y, tensor<f32>) {
    // CHECK: %[[Y:.*]] = ptl.dot %[[X]], %{{.*}} over [embed] : {{.*}} -> tensor<8x2xf32
    %y = ptl.dot %x, %w over [embed] : (!x, !w) -> !y
    // CHECK: %[[DW:.*]] = ptl.dot %[[X]], %{{.*}} over [batch]
    // CHECK-NEXT: %[[R:.*]] = spmd.all_reduce sum %[[DW]] over @mesh [dp] reason "'ptl.dot' sums over 'batch', which is split over dp"
    // CHECK-NEXT: ptl.global_norm %[[R]]
    %dw = ptl.dot %x, %dy over [batch] : (!x, !y) -> !w
    %n = ptl.global_norm %dw : (!w) -> tensor<f32>
    // CHECK: spmd.all_gather %[[Y]] along batch
    return %y, %n : !y, tensor<f32>
  }
}

// -----

!x = tensor<5xf32, #ptl.dims<[batch]>>

// 5 rows over 2 ranks are 3 and 2: the padding is masked before the fold, with what the fold ignores.
// The maximum is finished before the function that isn't linear in it.
module attributes {ptl.plan = {mesh = [{name = "dp", size = 2 : i64}],
    shard = [{dim = "batch", dims = ["batch"], axes = ["dp"], line = "m.ptl:1:1"}]}} {
  // CHECK-LABEL: func @uneven
  func.func @uneven(%x: !x {ptl.role = "data", ptl.path = "x"}) -> (tensor<f32>, tensor<f32>) {
    // CHECK: %[[M:.*]] = spmd.mask %{{.*}} fill 0
    // CHECK: %[[S:.*]] = ptl.reduce sum %[[M]] over [batch]
    %s = ptl.reduce sum %x over [batch] : !x -> tensor<f32>
    // CHECK: spmd.mask %{{.*}} fill -inf
    // CHECK: %[[T:.*]] = ptl.reduce max
    %m = ptl.reduce max %x over [batch] : !x -> tensor<f32>
    // CHECK: %[[U:.*]] = spmd.all_reduce max %[[T]]
    // CHECK: ptl.elementwise exp %[[U]]
    %e = ptl.elementwise exp %m : (tensor<f32>) -> tensor<f32>
    // CHECK: spmd.all_reduce sum %[[S]]
    return %s, %e : tensor<f32>, tensor<f32>
  }
}

// -----

!x = tensor<16xf32, #ptl.dims<[batch]>>

// An axis of size 1 leaves no trace.
module attributes {ptl.plan = {mesh = [{name = "dp", size = 1 : i64}],
    shard = [{dim = "batch", dims = ["batch"], axes = ["dp"], line = "m.ptl:1:1"}]}} {
  // CHECK-LABEL: func @one
  // CHECK-NOT: spmd
  func.func @one(%x: !x {ptl.role = "data", ptl.path = "x"}) -> tensor<f32> {
    %s = ptl.reduce sum %x over [batch] : !x -> tensor<f32>
    return %s : tensor<f32>
  }
}
