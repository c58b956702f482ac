// RUN: ptl-opt %s --split-input-file --fuse-outline-single --comm-start-collectives | FileCheck %s

!a = tensor<4x8xf32, #ptl.dims<[embed, ffn]>>
module attributes {ptl.plan = {overlap = true}} {
spmd.mesh @mesh [dp = 2]

// A sum starts behind what makes it and ends in front of what reads it; one with nothing in between stays as it is.
// CHECK-LABEL: func @sums
func.func @sums(%x: !a) -> (!a, !a) {
  // CHECK: %[[G:.*]] = rt.kernel
  // CHECK: %[[S:.*]] = spmd.all_reduce sum %[[G]] over @mesh [dp] {rt.started}
  // CHECK: %[[D:.*]] = rt.kernel
  // CHECK: %[[E:.*]] = rt.kernel
  // CHECK: %[[W:.*]] = rt.wait %[[S]]
  // CHECK: rt.kernel {{.*}}(%[[W]], %[[E]])
  // CHECK: spmd.all_reduce sum %{{.*}} over @mesh [dp] :
  // CHECK: return %[[W]]
  %g = ptl.elementwise neg %x : (!a) -> !a
  %d = ptl.elementwise exp %x : (!a) -> !a
  %e = ptl.elementwise exp %d : (!a) -> !a
  %h = spmd.all_reduce sum %g over @mesh [dp] : !a -> !a
  %f = ptl.elementwise add %h, %e : (!a, !a) -> !a
  %i = spmd.all_reduce sum %f over @mesh [dp] : !a -> !a
  return %h, %i : !a, !a
}
}

// -----

// Without `overlap` nothing is started.
!a = tensor<4x8xf32, #ptl.dims<[embed, ffn]>>
module attributes {ptl.plan = {overlap = false}} {
spmd.mesh @mesh [dp = 2]
// CHECK-LABEL: func @off
// CHECK-NOT: rt.started
// CHECK-NOT: rt.wait
// CHECK: return
func.func @off(%x: !a) -> (!a, !a) {
  %g = ptl.elementwise neg %x : (!a) -> !a
  %h = spmd.all_reduce sum %g over @mesh [dp] : !a -> !a
  %d = ptl.elementwise exp %x : (!a) -> !a
  return %h, %d : !a, !a
}
}

// -----

// Three layers whose weights are gathered for the forward, and for the backward again but for the last. Each gather but the first
// starts where the layer before it begins; a layer that stays whole for the backward takes the place of one that is gathered ahead.
!x = tensor<4xf32, #ptl.dims<[embed]>>
!p = tensor<2xf32, #ptl.dims<[part]>>
module attributes {ptl.plan = {overlap = true}} {
spmd.mesh @mesh [dp = 2]
// CHECK-LABEL: func @layers
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32{{.*}}, %[[P0:[^:]*]]: tensor<2xf32{{[^%]*}}, %[[P1:[^:]*]]: tensor<2xf32{{[^%]*}}, %[[P2:[^:]*]]: tensor<2xf32
func.func @layers(%x: !x, %p0: !p, %p1: !p, %p2: !p) -> !x {
  // CHECK-NEXT: %[[S0:.*]] = spmd.bucket_all_gather %[[P0]] over @mesh [dp] {rt.started}
  // CHECK: %[[E:.*]] = rt.kernel
  // CHECK: %[[S1:.*]] = spmd.bucket_all_gather %[[P1]] over @mesh [dp] {rt.started}
  // CHECK-NEXT: %[[W0:.*]] = rt.wait %[[S0]] keeps %[[P0]]
  // CHECK-NEXT: %[[Y0:.*]] = rt.kernel {{.*}}(%[[E]], %[[W0]])
  // CHECK: %[[S2:.*]] = spmd.bucket_all_gather %[[P2]] over @mesh [dp] {rt.started}
  // CHECK-NEXT: %[[W1:.*]] = rt.wait %[[S1]] keeps %[[P1]]
  // CHECK-NEXT: %[[Y1:.*]] = rt.kernel {{.*}}(%[[Y0]], %[[W1]])
  // CHECK: %[[W2:.*]] = rt.wait %[[S2]] keeps %[[P2]]
  // CHECK-NEXT: %[[Y2:.*]] = rt.kernel {{.*}}(%[[Y1]], %[[W2]])
  // CHECK: %[[B2:.*]] = rt.kernel {{.*}}(%[[Y2]], %[[W2]])
  // CHECK: %[[S3:.*]] = spmd.bucket_all_gather %[[P0]] over @mesh [dp] {rt.started, spmd.time = 1 : i64}
  // CHECK-NEXT: %[[B1:.*]] = rt.kernel {{.*}}(%[[B2]], %[[W1]])
  // CHECK: %[[W3:.*]] = rt.wait %[[S3]] keeps %[[P0]]
  // CHECK-NEXT: rt.kernel {{.*}}(%[[B1]], %[[W3]])
  %e = ptl.elementwise exp %x : (!x) -> !x
  %w0 = spmd.bucket_all_gather %p0 over @mesh [dp] : !p -> !x
  %y0 = ptl.elementwise mul %e, %w0 : (!x, !x) -> !x
  %w1 = spmd.bucket_all_gather %p1 over @mesh [dp] : !p -> !x
  %y1 = ptl.elementwise mul %y0, %w1 : (!x, !x) -> !x
  %w2 = spmd.bucket_all_gather %p2 over @mesh [dp] : !p -> !x
  %y2 = ptl.elementwise mul %y1, %w2 : (!x, !x) -> !x
  %b2 = ptl.elementwise mul %y2, %w2 : (!x, !x) -> !x
  %b1 = ptl.elementwise mul %b2, %w1 : (!x, !x) -> !x
  %w3 = spmd.bucket_all_gather %p0 over @mesh [dp] {spmd.time = 1} : !p -> !x
  %b0 = ptl.elementwise mul %b1, %w3 : (!x, !x) -> !x
  return %b0 : !x
}
}

// -----

// A scatter is waited for in front of the next one; one whose part is summed further is run.
!x = tensor<4xf32, #ptl.dims<[embed]>>
!p = tensor<2xf32, #ptl.dims<[part]>>
module attributes {ptl.plan = {overlap = true}} {
spmd.mesh @mesh [dp = 2, tp = 2]
// CHECK-LABEL: func @scatters
func.func @scatters(%x: !x) -> (!p, !p, !p) {
  // CHECK: %[[G0:.*]] = rt.kernel
  // CHECK: %[[S0:.*]] = spmd.bucket_reduce_scatter sum %[[G0]] over @mesh [dp] {rt.started}
  // CHECK: %[[G1:.*]] = rt.kernel
  // CHECK: %[[W0:.*]] = rt.wait %[[S0]] :
  // CHECK-NEXT: %[[S1:.*]] = spmd.bucket_reduce_scatter sum %[[G1]] over @mesh [dp] {rt.started}
  // CHECK: %[[G2:.*]] = rt.kernel
  // CHECK: %[[W1:.*]] = rt.wait %[[S1]] :
  // CHECK-NEXT: %[[P2:.*]] = spmd.bucket_reduce_scatter sum %[[G2]] over @mesh [dp] :
  // CHECK: %[[R:.*]] = spmd.all_reduce sum %[[P2]] over @mesh [tp] :
  // CHECK-NEXT: return %[[W0]], %[[W1]], %[[R]]
  %g0 = ptl.elementwise neg %x : (!x) -> !x
  %p0 = spmd.bucket_reduce_scatter sum %g0 over @mesh [dp] : !x -> !p
  %g1 = ptl.elementwise exp %g0 : (!x) -> !x
  %p1 = spmd.bucket_reduce_scatter sum %g1 over @mesh [dp] : !x -> !p
  %g2 = ptl.elementwise exp %g1 : (!x) -> !x
  %p2 = spmd.bucket_reduce_scatter sum %g2 over @mesh [dp] : !x -> !p
  %r = spmd.all_reduce sum %p2 over @mesh [tp] : !p -> !p
  return %p0, %p1, %r : !p, !p, !p
}
}

// -----

// Stage functions end in front of the norm and of the update; within the update a bucket travels while the next is updated.
!x = tensor<4xf32, #ptl.dims<[embed]>>
!p = tensor<2xf32, #ptl.dims<[part]>>
!q = tensor<2xf32, #ptl.dims<[other]>>
module attributes {ptl.plan = {overlap = true}} {
spmd.mesh @mesh [dp = 2]
// CHECK-LABEL: func @step
func.func @step(%x: !x, %p: !p, %q: !q, %r: tensor<f32>, %s: tensor<i64>) -> (!x, !x, tensor<f32>, !x) {
  // CHECK: %[[S:.*]] = spmd.all_reduce sum %{{.*}} {rt.started}
  // CHECK: rt.kernel
  // CHECK: %[[W:.*]] = rt.wait %[[S]]
  // CHECK-NEXT: %[[N:.*]] = ptl.global_norm
  // CHECK: rt.kernel flat
  // CHECK: %[[G:.*]] = spmd.bucket_all_gather %{{.*}} {rt.started}
  // CHECK-NEXT: rt.kernel flat
  // CHECK: spmd.bucket_all_gather %{{[^{]*}} :
  // CHECK: rt.wait %[[G]]
  // CHECK-NEXT: return
  %g = ptl.elementwise neg %x : (!x) -> !x
  %h = spmd.all_reduce sum %g over @mesh [dp] : !x -> !x
  %e = ptl.elementwise exp %x : (!x) -> !x
  %n = ptl.global_norm %e : (!x) -> tensor<f32>
  %u = ptl.optimize sgd weights(%p : !p) grads(%p : !p) hypers(%r, %r, %r, %r, %r : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
    step %s : tensor<i64> names ["p"] -> (!p)
  %v = spmd.bucket_all_gather %u over @mesh [dp] : !p -> !x
  %t = ptl.optimize sgd weights(%q : !q) grads(%q : !q) hypers(%r, %r, %r, %r, %r : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
    step %s : tensor<i64> names ["q"] -> (!q)
  %w = spmd.bucket_all_gather %t over @mesh [dp] : !q -> !x
  return %v, %w, %n, %h : !x, !x, tensor<f32>, !x
}
}

// -----

// A sum over several micro-batches starts in the last of them, unless no kernel is left there behind what it adds up.
#bs = #ptl.dims<[batch, seq]>
!g = tensor<8xf32, #ptl.dims<[seq]>>
module attributes {ptl.plan = {overlap = true}} {
spmd.mesh @mesh [dp = 2]
// CHECK-LABEL: func @step
func.func @step(%x: tensor<4x8xf32, #bs>) -> (!g, !g, tensor<f32>) {
  // CHECK: %[[L:.*]]:2 = ptl.accumulate pieces 2
  // CHECK-NOT: spmd.all_reduce
  // CHECK: ptl.yield
  // CHECK: %[[S:.*]] = spmd.all_reduce sum %[[L]]#0 over @mesh [dp] {rt.in_last, rt.started}
  // CHECK-NEXT: %[[E:.*]] = spmd.all_reduce sum %[[L]]#1 over @mesh [dp] :
  // CHECK-NEXT: %[[W:.*]] = rt.wait %[[S]]
  // CHECK-NEXT: %[[N:.*]] = ptl.global_norm %[[W]], %[[E]]
  // CHECK-NEXT: return %[[W]], %[[E]], %[[N]]
  %s:2 = ptl.accumulate pieces 2 (%k) -> !g, !g {
    %p = ptl.microbatch %x[%k] of 2 along batch : tensor<4x8xf32, #bs> -> tensor<2x8xf32, #bs>
    %t = ptl.reduce sum %p over [batch] : tensor<2x8xf32, #bs> -> !g
    %m = ptl.reduce max %p over [batch] : tensor<2x8xf32, #bs> -> !g
    ptl.yield %t, %m : !g, !g
  }
  %a = spmd.all_reduce sum %s#0 over @mesh [dp] : !g -> !g
  %b = spmd.all_reduce sum %s#1 over @mesh [dp] : !g -> !g
  %n = ptl.global_norm %a, %b : (!g, !g) -> tensor<f32>
  return %a, %b, %n : !g, !g, tensor<f32>
}
}
