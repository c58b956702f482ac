// RUN: ptl-opt %s --split-input-file --comm-finish-in-loop | FileCheck %s

#bs = #ptl.dims<[batch, seq]>
!g = tensor<8xf32, #ptl.dims<[seq]>>
module attributes {ptl.plan = {overlap = true}} {
spmd.mesh @mesh [dp = 2, tp = 2]

// Sums that are all that reads what they sum move in, in turn; a sum that something else reads stays.
// CHECK-LABEL: func @step
func.func @step(%x: tensor<4x8xf32, #bs>) -> (!g, !g, tensor<f32>) {
  // CHECK: %[[L:.*]]:3 = ptl.accumulate pieces 1 {{.*}} attributes {ptl.grad = ["", "", "w"]}
  // CHECK: %[[T:.*]] = ptl.reduce sum %{{.*}} over [batch]
  // CHECK: %[[M:.*]] = ptl.reduce max
  // CHECK: %[[U:.*]] = ptl.reduce sum %{{.*}} over [batch, seq]
  // CHECK: %[[A:.*]] = spmd.all_reduce sum %[[T]] over @mesh [tp]
  // CHECK: %[[B:.*]] = spmd.all_reduce sum %[[A]] over @mesh [dp]
  // CHECK: ptl.yield %[[M]], %[[U]], %[[B]]
  // CHECK: %[[C:.*]] = spmd.all_reduce sum %[[L]]#0 over @mesh [dp]
  // CHECK: ptl.elementwise neg %[[L]]#0
  // CHECK: return %[[L]]#2, %{{.*}}, %[[L]]#1
  %s:3 = ptl.accumulate pieces 1 (%k) -> !g, !g, tensor<f32> attributes {ptl.grad = ["w", "", ""]} {
    %p = ptl.microbatch %x[%k] of 1 along batch : tensor<4x8xf32, #bs> -> tensor<4x8xf32, #bs>
    %t = ptl.reduce sum %p over [batch] : tensor<4x8xf32, #bs> -> !g
    %m = ptl.reduce max %p over [batch] : tensor<4x8xf32, #bs> -> !g
    %u = ptl.reduce sum %p over [batch, seq] : tensor<4x8xf32, #bs> -> tensor<f32>
    ptl.yield %t, %m, %u : !g, !g, tensor<f32>
  }
  %a = spmd.all_reduce sum %s#0 over @mesh [tp] : !g -> !g
  %b = spmd.all_reduce sum %a over @mesh [dp] : !g -> !g
  %c = spmd.all_reduce sum %s#1 over @mesh [dp] : !g -> !g
  %d = ptl.elementwise neg %s#1 : (!g) -> !g
  %e = ptl.elementwise add %c, %d : (!g, !g) -> !g
  return %b, %e, %s#2 : !g, !g, tensor<f32>
}
}

// -----

// Sums of several micro-batches are finished behind the last one.
#bs = #ptl.dims<[batch, seq]>
!g = tensor<8xf32, #ptl.dims<[seq]>>
module attributes {ptl.plan = {overlap = true}} {
spmd.mesh @mesh [dp = 2]
// CHECK-LABEL: func @step
// CHECK: ptl.yield
// CHECK: spmd.all_reduce
func.func @step(%x: tensor<4x8xf32, #bs>) -> !g {
  %s = ptl.accumulate pieces 2 (%k) -> !g {
    %p = ptl.microbatch %x[%k] of 2 along batch : tensor<4x8xf32, #bs> -> tensor<2x8xf32, #bs>
    %t = ptl.reduce sum %p over [batch] : tensor<2x8xf32, #bs> -> !g
    ptl.yield %t : !g
  }
  %a = spmd.all_reduce sum %s over @mesh [dp] : !g -> !g
  return %a : !g
}
}
