// RUN: ptl-opt %s --split-input-file --zero-split-storage | FileCheck %s

!w = tensor<8x4xf32, #ptl.dims<[ffn, embed]>>
!b = tensor<4xf32, #ptl.dims<[embed]>>

// Level 1: the pending gradients of two weights, 36 elements, are parts of 18 on two ranks. The optimizer works on
// parts, states are parts, the norm adds up exactly, and new weights are gathered.
module attributes {ptl.plan = {reproducible = false, zero = [{level = 1 : i64, axes = ["dp"], weights = ["w", "b"], line = "m.ptl:3:7"}]}} {
spmd.mesh @mesh [dp = 2]
// CHECK-LABEL: func @step
// CHECK-SAME: %[[W:[^:]*]]: tensor<8x4xf32
// CHECK-SAME: %[[B:[^:]*]]: tensor<4xf32
// CHECK-SAME: %[[M:[^:]*]]: tensor<18xf32, #ptl.dims<["zero.0"]>>
// CHECK-SAME: ptl.members = ["w", "b"], ptl.path = "zero.0#m", ptl.role = "state"
// CHECK-SAME: spmd.global_type = tensor<36xf32, #ptl.dims<["zero.0"]>>, spmd.sharding = #spmd.sharding<{{\[\[}}dp]]>
func.func @step(%w: !w {ptl.path = "w", ptl.role = "weight"}, %b: !b {ptl.path = "b", ptl.role = "weight"},
    %mw: !w {ptl.path = "w#m", ptl.role = "state"}, %mb: !b {ptl.path = "b#m", ptl.role = "state"},
    %dw: !w, %db: !b, %h: tensor<f32>, %s: tensor<i64>) -> (!w, !b, !w, !b, tensor<f32>) {
  // CHECK: %[[G:.*]] = spmd.bucket_reduce_scatter sum %{{.*}}, %{{.*}} over @mesh [dp]
  // CHECK-SAME: reason "2 gradients are summed; each rank keeps its part ('zero 1')"
  // CHECK-SAME: because "r"
  // CHECK-SAME: because "s"
  // CHECK: %[[S:.*]] = spmd.square_sum %[[G]] members {{\[\[}}tensor<8x4xf32, {{.*}}>, tensor<4xf32, {{.*}}>]]
  // CHECK: %[[T:.*]] = spmd.all_reduce sum %[[S]] over @mesh [dp]
  // CHECK: %[[N:.*]] = spmd.root %[[T]]
  // CHECK: %[[P:.*]] = spmd.bucket_slice %[[W]], %[[B]] over @mesh [dp]
  // CHECK: %[[NEW:.*]], %[[M1:.*]] = ptl.optimize lion weights(%[[P]] : {{.*}}) grads(%[[G]] : {{.*}}) states(%[[M]] :
  // CHECK-SAME: names ["zero.0"] {ptl.members = ["w", "b"]}
  // CHECK: %[[ALL:.*]]:2 = spmd.bucket_all_gather %[[NEW]] over @mesh [dp]
  // CHECK-NOT: spmd.all_reduce
  // CHECK: return %[[ALL]]#0, %[[ALL]]#1, %[[M1]], %[[N]]
  %gw = spmd.all_reduce sum %dw over @mesh [dp] reason "r" : !w -> !w
  %gb = spmd.all_reduce sum %db over @mesh [dp] reason "s" : !b -> !b
  %n = ptl.global_norm %gw, %gb : (!w, !b) -> tensor<f32>
  %w1, %b1, %mw1, %mb1 = ptl.optimize lion weights(%w, %b : !w, !b) grads(%gw, %gb : !w, !b) states(%mw, %mb : !w, !b)
      hypers(%h, %h, %h, %h, %h : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) step %s : tensor<i64>
      names ["w", "b"] -> (!w, !b) states(!w, !b)
  return %w1, %b1, %mw1, %mb1, %n : !w, !b, !w, !b, tensor<f32>
}
}

// -----

!w = tensor<8x4xf32, #ptl.dims<[ffn, embed]>>
!b = tensor<4xf32, #ptl.dims<[embed]>>

// Level 2: the gradient of `w` becomes a part in each micro-batch. It is pending over two axes: the one behind dp in the
// mesh is summed before, on whole gradients, the one before it on the accumulated part. `b` has no rule.
module attributes {ptl.plan = {reproducible = false, zero = [{level = 2 : i64, axes = ["dp"], weights = ["w"], line = "m.ptl:3:7"}]}} {
spmd.mesh @mesh [slow = 2, dp = 2, tp = 2]
// CHECK-LABEL: func @step
func.func @step(%w: !w {ptl.path = "w", ptl.role = "weight"}, %b: !b {ptl.path = "b", ptl.role = "weight"},
    %x: !w, %y: !b, %h: tensor<f32>, %s: tensor<i64>) -> (!w, !b, tensor<f32>) {
  // CHECK: %[[A:.*]]:2 = ptl.accumulate pieces 2 {{.*}} -> tensor<4xf32, {{.*}}>, tensor<16xf32, {{.*}}> attributes {ptl.grad = ["b", ""]}
  // CHECK: %[[D:.*]] = ptl.elementwise neg %{{.*}} : (tensor<8x4xf32
  // CHECK-NEXT: %[[I:.*]] = spmd.all_reduce sum %[[D]] over @mesh [tp]
  // CHECK-NEXT: %[[P:.*]] = spmd.bucket_reduce_scatter sum %[[I]] over @mesh [dp]
  // CHECK: ptl.yield %{{.*}}, %[[P]]
  // CHECK: spmd.all_reduce sum %[[A]]#0 over @mesh [slow, dp, tp] reason "s"
  // CHECK: %[[G:.*]] = spmd.all_reduce sum %[[A]]#1 over @mesh [slow]
  // CHECK-DAG: %[[SB:.*]] = spmd.square_sum %{{.*}} members {{\[\[}}]]
  // CHECK-DAG: spmd.square_sum %[[G]] members {{\[\[}}tensor
  // CHECK: spmd.root %[[SB]], %{{.*}}
  // CHECK-DAG: ptl.optimize sgd {{.*}} names ["b"]
  // CHECK-DAG: ptl.optimize sgd weights(%{{.*}}) grads(%[[G]] : {{.*}} names ["zero.0"]
  %g:2 = ptl.accumulate pieces 2 (%k) -> !w, !b attributes {ptl.grad = ["w", "b"]} {
    %dw = ptl.elementwise neg %x : (!w) -> !w
    %db = ptl.elementwise neg %y : (!b) -> !b
    ptl.yield %dw, %db : !w, !b
  }
  %gw = spmd.all_reduce sum %g#0 over @mesh [slow, dp, tp] reason "r" : !w -> !w
  %gb = spmd.all_reduce sum %g#1 over @mesh [slow, dp, tp] reason "s" : !b -> !b
  %n = ptl.global_norm %gw, %gb : (!w, !b) -> tensor<f32>
  %w1, %b1 = ptl.optimize sgd weights(%w, %b : !w, !b) grads(%gw, %gb : !w, !b)
      hypers(%h, %h, %h, %h, %h : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) step %s : tensor<i64>
      names ["w", "b"] -> (!w, !b)
  return %w1, %b1, %n : !w, !b, tensor<f32>
}
}

// -----

!w = tensor<8x4xf32, #ptl.dims<[ffn, embed]>>

// Under `reproducible` and with several micro-batches the whole gradient is scattered behind the loop. A gradient that is equal
// on all ranks already is cut, nothing is sent for it.
module attributes {ptl.plan = {reproducible = true, zero = [{level = 2 : i64, axes = ["dp"], weights = ["w", "v"], line = "m.ptl:3:7"}]}} {
spmd.mesh @mesh [dp = 2]
// CHECK-LABEL: func @step
func.func @step(%w: !w {ptl.path = "w", ptl.role = "weight"}, %v: !w {ptl.path = "v", ptl.role = "weight"},
    %x: !w, %h: tensor<f32>, %s: tensor<i64>) -> (!w, !w) {
  // CHECK: %[[A:.*]]:2 = ptl.accumulate
  // CHECK: ptl.yield
  // CHECK: spmd.bucket_reduce_scatter sum %[[A]]#0 over @mesh [dp]
  // CHECK: spmd.bucket_slice %[[A]]#1 over @mesh [dp]
  %g:2 = ptl.accumulate pieces 2 (%k) -> !w, !w {
    %dw = ptl.elementwise neg %x : (!w) -> !w
    %dv = ptl.elementwise relu %x : (!w) -> !w
    ptl.yield %dw, %dv : !w, !w
  }
  %gw = spmd.all_reduce sum %g#0 over @mesh [dp] reason "r" : !w -> !w
  %w1, %v1 = ptl.optimize sgd weights(%w, %v : !w, !w) grads(%gw, %g#1 : !w, !w)
      hypers(%h, %h, %h, %h, %h : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) step %s : tensor<i64>
      names ["w", "v"] -> (!w, !w)
  return %w1, %v1 : !w, !w
}
}

// -----

!w = tensor<8x4xf32, #ptl.dims<[ffn, embed]>>

// Level 3: each weight is a layer of its own. Room is for twice the larger one: when `blocks.2` comes, `blocks.1` goes,
// whose next use is the latest, and is gathered again. A function that only reads weights takes parts, too.
module attributes {ptl.plan = {bucket = 100 : i64, reproducible = false, zero = [{level = 3 : i64, axes = ["dp"],
    weights = ["blocks.0.w", "blocks.1.w", "blocks.2.w"], line = "m.ptl:3:7"}]}} {
spmd.mesh @mesh [dp = 2]
// CHECK: module attributes {{.*}}ptl.weights = ["blocks.0.w", "blocks.1.w", "blocks.2.w"]
// CHECK-LABEL: func @step
// CHECK-SAME: %[[P0:[^:]*]]: tensor<16xf32, #ptl.dims<["zero.0"]>> {ptl.members = [{line = "{{[^"]*}}", ptl.path = "blocks.0.w", ptl.role = "weight", type = tensor<8x4xf32
// CHECK-SAME: %[[P1:[^:]*]]: tensor<16xf32, #ptl.dims<["zero.1"]>>
// CHECK-SAME: %[[P2:[^:]*]]: tensor<16xf32, #ptl.dims<["zero.2"]>>
func.func @step(%u: !w {ptl.path = "blocks.0.w", ptl.role = "weight"}, %v: !w {ptl.path = "blocks.1.w", ptl.role = "weight"},
    %w: !w {ptl.path = "blocks.2.w", ptl.role = "weight"}, %x: !w, %h: tensor<f32>, %s: tensor<i64>) -> (!w, !w, !w) {
  // CHECK: ptl.accumulate
  // CHECK: %[[G0:.*]] = spmd.bucket_all_gather %[[P0]] over @mesh [dp] {{.*}}spmd.time = 0
  // CHECK-NEXT: %[[A:.*]] = ptl.elementwise mul %[[G0]],
  // CHECK-NEXT: %[[G1:.*]] = spmd.bucket_all_gather %[[P1]]
  // CHECK-NEXT: ptl.elementwise mul %[[G1]], %[[G0]]
  // CHECK-NEXT: %[[G2:.*]] = spmd.bucket_all_gather %[[P2]]
  // CHECK-NEXT: ptl.elementwise mul %[[G2]],
  // CHECK-NEXT: spmd.bucket_reduce_scatter
  // CHECK-NEXT: ptl.elementwise add %[[G2]], %[[G0]]
  // CHECK-NEXT: spmd.bucket_reduce_scatter
  // CHECK-NEXT: %[[G1B:.*]] = spmd.bucket_all_gather %[[P1]] over @mesh [dp] {{.*}}spmd.time = 1
  // CHECK-NEXT: ptl.elementwise add %[[G1B]],
  %g:3 = ptl.accumulate pieces 1 (%k) -> !w, !w, !w {
    %a = ptl.elementwise mul %u, %x : (!w, !w) -> !w
    %b = ptl.elementwise mul %v, %u : (!w, !w) -> !w
    %c = ptl.elementwise mul %w, %b : (!w, !w) -> !w
    %d = ptl.elementwise add %w, %u : (!w, !w) -> !w
    %e = ptl.elementwise add %v, %a : (!w, !w) -> !w
    ptl.yield %c, %d, %e : !w, !w, !w
  }
  %gu = spmd.all_reduce sum %g#0 over @mesh [dp] reason "r" : !w -> !w
  %gv = spmd.all_reduce sum %g#1 over @mesh [dp] reason "r" : !w -> !w
  %gw = spmd.all_reduce sum %g#2 over @mesh [dp] reason "r" : !w -> !w
  // CHECK: ptl.optimize sgd weights(%[[P0]]
  // CHECK-NOT: spmd.bucket_slice
  // CHECK: return {{.*}} : tensor<16xf32, {{.*}}>, tensor<16xf32, {{.*}}>, tensor<16xf32
  %u1, %v1, %w1 = ptl.optimize sgd weights(%u, %v, %w : !w, !w, !w) grads(%gu, %gv, %gw : !w, !w, !w)
      hypers(%h, %h, %h, %h, %h : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) step %s : tensor<i64>
      names ["blocks.0.w", "blocks.1.w", "blocks.2.w"] -> (!w, !w, !w)
  return %u1, %v1, %w1 : !w, !w, !w
}
// CHECK-LABEL: func @logits
// CHECK-SAME: %[[P:[^:]*]]: tensor<16xf32, #ptl.dims<["zero.1"]>>
// CHECK-NEXT: %[[G:.*]] = spmd.bucket_all_gather %[[P]]
// CHECK-NEXT: ptl.elementwise neg %[[G]]
func.func @logits(%v: !w {ptl.path = "blocks.1.w", ptl.role = "weight"}) -> !w {
  %y = ptl.elementwise neg %v : (!w) -> !w
  return %y : !w
}
}

// -----

!w = tensor<8x4xf32, #ptl.dims<[ffn, embed]>>

// A weight that isn't trained is split at level 3, too; it has no gradient, no state, and isn't returned.
module attributes {ptl.plan = {reproducible = false, zero = [{level = 3 : i64, axes = ["dp"], weights = ["u"], line = "m.ptl:3:7"}]}} {
spmd.mesh @mesh [dp = 2]
// CHECK-LABEL: func @step
// CHECK-SAME: %[[P:[^:]*]]: tensor<16xf32, #ptl.dims<["zero.0"]>> {ptl.members = [{{{.*}}ptl.frozen, ptl.path = "u"
// CHECK: %[[G:.*]] = spmd.bucket_all_gather %[[P]] over @mesh [dp]
// CHECK-NEXT: %[[Y:.*]] = ptl.elementwise neg %[[G]]
// CHECK-NEXT: return %[[Y]]
func.func @step(%u: !w {ptl.frozen, ptl.path = "u", ptl.role = "weight"}) -> !w {
  %y = ptl.elementwise neg %u : (!w) -> !w
  return %y : !w
}
}

// -----

!w = tensor<8x4xf32, #ptl.dims<[ffn, embed]>>
!w16 = tensor<8x4xbf16, #ptl.dims<[ffn, embed]>>

// Weights that are read as casts are masters: at level 1, too, a rank has its part, casts it at the beginning of the step, and gathers
// the cast, once for all uses. Gradients are bf16. `v`, which something else reads, lies in a bucket of its own, as without casts. A
// function that only reads weights gathers casts in front of their use.
module attributes {ptl.plan = {reproducible = false, zero = [{level = 1 : i64, axes = ["dp"], weights = ["u", "v"], line = "m.ptl:3:7"}]}} {
spmd.mesh @mesh [dp = 2]
// CHECK-LABEL: func @step
// CHECK-SAME: %[[P:[^:]*]]: tensor<16xf32, #ptl.dims<["zero.0"]>> {ptl.members = [{line = "{{[^"]*}}", ptl.path = "u"
// CHECK-SAME: %[[V:[^:]*]]: tensor<8x4xf32
// CHECK-NEXT: %[[C:.*]] = ptl.elementwise cast %[[P]] : {{.*}} -> tensor<16xbf16, #ptl.dims<["zero.0"]>>
// CHECK-NEXT: %[[U:.*]] = spmd.bucket_all_gather %[[C]] over @mesh [dp] reason "each rank keeps its part of 1 weights ('zero 1')" : {{.*}} -> tensor<8x4xbf16
// CHECK: ptl.accumulate
// CHECK: ptl.elementwise mul %[[U]], %{{.*}} : (tensor<8x4xbf16
// CHECK: ptl.elementwise add %[[V]], %{{.*}} : (tensor<8x4xf32
// CHECK: %[[G:.*]] = spmd.bucket_reduce_scatter sum {{.*}} -> tensor<16xbf16, #ptl.dims<["zero.0"]>>
// CHECK: %[[NEW:.*]] = ptl.optimize sgd weights(%[[P]] : {{.*}}) grads(%[[G]] :
// CHECK: %[[Q:.*]] = spmd.bucket_slice %[[V]]
// CHECK: %[[NEWV:.*]] = ptl.optimize sgd weights(%[[Q]]
// CHECK: %[[ALL:.*]] = spmd.bucket_all_gather %[[NEWV]]
// CHECK: return {{.*}}%[[NEW]]
func.func @step(%u: !w {ptl.path = "u", ptl.role = "weight"}, %v: !w {ptl.path = "v", ptl.role = "weight"}, %x: !w16, %h: tensor<f32>,
    %s: tensor<i64>) -> (!w, !w) {
  %u16 = ptl.elementwise cast %u : (!w) -> !w16
  %v16 = ptl.elementwise cast %v : (!w) -> !w16
  %g:2 = ptl.accumulate pieces 1 (%k) -> !w16, !w16 {
    %a = ptl.elementwise mul %u16, %x : (!w16, !w16) -> !w16
    %b = ptl.elementwise add %v, %v : (!w, !w) -> !w
    %c = ptl.elementwise cast %b : (!w) -> !w16
    %d = ptl.elementwise mul %c, %v16 : (!w16, !w16) -> !w16
    ptl.yield %a, %d : !w16, !w16
  }
  %gu = spmd.all_reduce sum %g#0 over @mesh [dp] reason "r" : !w16 -> !w16
  %gv = spmd.all_reduce sum %g#1 over @mesh [dp] reason "r" : !w16 -> !w16
  %u1, %v1 = ptl.optimize sgd weights(%u, %v : !w, !w) grads(%gu, %gv : !w16, !w16)
      hypers(%h, %h, %h, %h, %h : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) step %s : tensor<i64>
      names ["u", "v"] -> (!w, !w)
  return %u1, %v1 : !w, !w
}
// CHECK-LABEL: func @logits
// CHECK-SAME: %[[P:[^:]*]]: tensor<16xf32, #ptl.dims<["zero.0"]>>
// CHECK-NEXT: %[[C:.*]] = ptl.elementwise cast %[[P]] : {{.*}} -> tensor<16xbf16
// CHECK-NEXT: %[[Y:.*]] = ptl.elementwise neg %{{.*}}
// CHECK-NEXT: %[[G:.*]] = spmd.bucket_all_gather %[[C]]
// CHECK-NEXT: ptl.elementwise mul %[[G]], %[[Y]]
// CHECK-NEXT: ptl.elementwise neg %[[G]]
func.func @logits(%u: !w {ptl.path = "u", ptl.role = "weight"}, %x: !w16) -> (!w16, !w16) {
  %y = ptl.elementwise neg %x : (!w16) -> !w16
  %a = ptl.elementwise cast %u : (!w) -> !w16
  %b = ptl.elementwise mul %a, %y : (!w16, !w16) -> !w16
  %c = ptl.elementwise cast %u : (!w) -> !w16
  %d = ptl.elementwise neg %c : (!w16) -> !w16
  return %b, %d : !w16, !w16
}
}
