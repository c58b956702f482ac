// RUN: ptl-opt %s --split-input-file --zero-split-storage="least-bytes=1" | FileCheck %s

!w = tensor<8x4xf32, #ptl.dims<[ffn, embed]>>

// Level 1: states are parts, and so is what makes directions of them; each layer's directions are gathered where they are read
// first. Steps are those of whole weights.
module attributes {ptl.plan = {zero = [{level = 1 : i64, axes = ["dp"], weights = ["a.w", "b.w"], line = "m.ptl:3:7"}]}} {
spmd.mesh @mesh [dp = 2]
// CHECK-LABEL: func @step
// CHECK-SAME: %[[A:[^:]*]]: tensor<8x4xf32
// CHECK-SAME: %[[B:[^:]*]]: tensor<8x4xf32
// CHECK-SAME: %[[MA:[^:]*]]: tensor<16xf32, #ptl.dims<["zero.0"]>>
// CHECK-SAME: %[[MB:[^:]*]]: tensor<16xf32, #ptl.dims<["zero.1"]>>
func.func @step(%a: !w {ptl.path = "a.w", ptl.role = "weight"}, %b: !w {ptl.path = "b.w", ptl.role = "weight"},
    %ma: !w {ptl.path = "a.w#momentum", ptl.role = "state"}, %mb: !w {ptl.path = "b.w#momentum", ptl.role = "state"},
    %da: !w, %db: !w, %h: tensor<f32>, %s: tensor<i64>) -> (!w, !w, !w, !w) {
  // CHECK: %[[GA:.*]] = spmd.bucket_reduce_scatter
  // CHECK: %[[GB:.*]] = spmd.bucket_reduce_scatter
  %ga = spmd.all_reduce sum %da over @mesh [dp] reason "r" : !w -> !w
  %gb = spmd.all_reduce sum %db over @mesh [dp] reason "r" : !w -> !w
  // CHECK: %[[PA:.*]] = spmd.bucket_slice %[[A]]
  // CHECK: %[[UA:.*]], %[[MA1:.*]] = ptl.optimize muon weights(%[[PA]] : {{.*}} grads(%[[GA]] : {{.*}} states(%[[MA]] :
  // CHECK: %[[DA:.*]] = spmd.bucket_all_gather %[[UA]] over @mesh [dp] reason "each rank makes its part of the steps of 1 weights ('zero 1')"
  // CHECK: %[[OA:.*]] = ptl.elementwise neg %[[DA]]
  // CHECK: %[[A1:.*]] = ptl.optimize apply weights(%[[A]] : {{.*}} grads(%[[OA]]
  %ua, %ma1 = ptl.optimize muon weights(%a : !w) grads(%ga : !w) states(%ma : !w) hypers(%h, %h : tensor<f32>, tensor<f32>)
      step %s : tensor<i64> names ["a.w"] -> (!w) states(!w)
  %oa = ptl.elementwise neg %ua : (!w) -> !w
  %a1 = ptl.optimize apply weights(%a : !w) grads(%oa : !w) hypers(%h, %h, %h : tensor<f32>, tensor<f32>, tensor<f32>)
      step %s : tensor<i64> names ["a.w"] -> (!w)
  // CHECK: %[[UB:.*]], %[[MB1:.*]] = ptl.optimize muon
  // CHECK: %[[DB:.*]] = spmd.bucket_all_gather %[[UB]]
  // CHECK: ptl.elementwise neg %[[DB]]
  // CHECK: %[[B1:.*]] = ptl.optimize apply weights(%[[B]]
  %ub, %mb1 = ptl.optimize muon weights(%b : !w) grads(%gb : !w) states(%mb : !w) hypers(%h, %h : tensor<f32>, tensor<f32>)
      step %s : tensor<i64> names ["b.w"] -> (!w) states(!w)
  %ob = ptl.elementwise neg %ub : (!w) -> !w
  %b1 = ptl.optimize apply weights(%b : !w) grads(%ob : !w) hypers(%h, %h, %h : tensor<f32>, tensor<f32>, tensor<f32>)
      step %s : tensor<i64> names ["b.w"] -> (!w)
  // CHECK: return %[[A1]], %[[B1]], %[[MA1]], %[[MB1]]
  return %a1, %b1, %ma1, %mb1 : !w, !w, !w, !w
}
}

// -----

!w = tensor<8x4xf32, #ptl.dims<[ffn, embed]>>

// Level 3: weights are parts, too. A step is one of the part, along directions that were multiplied with their factors.
module attributes {ptl.plan = {bucket = 1000 : i64, zero = [{level = 3 : i64, axes = ["dp"], weights = ["a.w", "b.w"], line = "m.ptl:3:7"}]}} {
spmd.mesh @mesh [dp = 2]
// CHECK-LABEL: func @step
// CHECK-SAME: %[[P:[^:]*]]: tensor<32xf32, #ptl.dims<["zero.0"]>>
// CHECK-SAME: %[[M:[^:]*]]: tensor<32xf32, #ptl.dims<["zero.0"]>>
func.func @step(%a: !w {ptl.path = "a.w", ptl.role = "weight"}, %b: !w {ptl.path = "b.w", ptl.role = "weight"},
    %ma: !w {ptl.path = "a.w#momentum", ptl.role = "state"}, %mb: !w {ptl.path = "b.w#momentum", ptl.role = "state"},
    %da: !w, %db: !w, %h: tensor<f32>, %k: tensor<f32>, %s: tensor<i64>) -> (!w, !w, !w, !w) {
  %ga = spmd.all_reduce sum %da over @mesh [dp] reason "r" : !w -> !w
  %gb = spmd.all_reduce sum %db over @mesh [dp] reason "r" : !w -> !w
  // CHECK: %[[U:.*]], %[[M1:.*]] = ptl.optimize muon weights(%[[P]] : {{.*}} states(%[[M]] :
  // CHECK: %[[D:.*]]:2 = spmd.bucket_all_gather %[[U]]
  %ua, %ma1 = ptl.optimize muon weights(%a : !w) grads(%ga : !w) states(%ma : !w) hypers(%h, %h : tensor<f32>, tensor<f32>)
      step %s : tensor<i64> names ["a.w"] -> (!w) states(!w)
  // CHECK: %[[OA:.*]] = ptl.elementwise neg %[[D]]#0
  // CHECK-NOT: ptl.optimize
  %oa = ptl.elementwise neg %ua : (!w) -> !w
  %a1 = ptl.optimize apply weights(%a : !w) grads(%oa : !w) hypers(%h, %h, %k : tensor<f32>, tensor<f32>, tensor<f32>)
      step %s : tensor<i64> names ["a.w"] -> (!w)
  %ub, %mb1 = ptl.optimize muon weights(%b : !w) grads(%gb : !w) states(%mb : !w) hypers(%h, %h : tensor<f32>, tensor<f32>)
      step %s : tensor<i64> names ["b.w"] -> (!w) states(!w)
  // CHECK: %[[OB:.*]] = ptl.elementwise neg %[[D]]#1
  %ob = ptl.elementwise neg %ub : (!w) -> !w
  // CHECK: %[[FA:.*]] = ptl.elementwise mul %[[OA]],
  // CHECK: %[[FB:.*]] = ptl.elementwise mul %[[OB]],
  // CHECK: %[[G:.*]] = spmd.bucket_slice %[[FA]], %[[FB]] over @mesh [dp]
  // CHECK: %[[ONE:.*]] = ptl.constant 1 : tensor<f32>
  // CHECK: %[[P1:.*]] = ptl.optimize apply weights(%[[P]] : {{.*}} grads(%[[G]] : {{.*}}, %[[ONE]] :
  // CHECK-SAME: names ["zero.0"] {ptl.members = ["a.w", "b.w"]}
  %b1 = ptl.optimize apply weights(%b : !w) grads(%ob : !w) hypers(%h, %h, %k : tensor<f32>, tensor<f32>, tensor<f32>)
      step %s : tensor<i64> names ["b.w"] -> (!w)
  // CHECK: return %[[M1]], %[[P1]]
  return %a1, %b1, %ma1, %mb1 : !w, !w, !w, !w
}
}
