// RUN: ptl-opt %s --stage-cut-stages --mlir-print-local-scope | FileCheck %s

!x = tensor<2x8xf32, #ptl.dims<[batch, embed]>>
!d = tensor<4x8xf32, #ptl.dims<[batch, embed]>>
!w = tensor<8xf32, #ptl.dims<[embed]>>
!q = tensor<12xi64, #ptl.dims<[digits]>>

// y = x * w0 on stage 0, z = y * w1 on stage 1, loss = sum z.
module attributes {ptl.stages = 2 : i64, ptl.train = {}, ptl.plan = {mesh = [{name = "pp", size = 2 : i64}], microbatches = 2 : i64,
    pipeline = {axis = "pp", parts = ["a.0", "a.1"], cuts = [], schedule = "one_f_one_b", chunks = 1 : i64, orders = "", line = ""}}} {
  spmd.mesh @mesh [pp = 2]
  // Rank 0 keeps x where it comes from, sends y and gets its gradient.
  // CHECK: rt.table = "PTLS
  // CHECK: module @rank0 attributes {{.*}}rt.pipe_rank = 0 : i64, rt.slots = array<i64: 0, 2, 2, 1, 0, 0>
  // CHECK: func.func @step(%[[W0:[a-z0-9]*]]: {{.*}}ptl.path = "w0"{{.*}}ptl.path = "x"
  // CHECK-NOT: "w1"
  // CHECK: %[[F:.*]] = ptl.accumulate pieces 2 {{.*}}#rt.phase<forward, stage = 0, pools = {{\[}}16]>
  // CHECK: %[[P:.*]] = ptl.microbatch
  // CHECK: %[[Y:.*]] = ptl.elementwise mul
  // CHECK: ptl.yield %[[Y]]
  // CHECK: rt.send %[[F]] edge 0
  // CHECK: %[[G:.*]] = rt.receive edge 0 pool 24 gradient
  // CHECK: %[[DW:.*]] = ptl.accumulate pieces 2 {{.*}}#rt.phase<whole_backward, stage = 0, pools = {{\[}}-1]>
  // CHECK: ptl.microbatch
  // CHECK: ptl.elementwise mul %[[G]]
  // CHECK: %[[S:.*]] = spmd.square_sum %[[DW]] members
  // CHECK: %[[A:[0-9]*]] = spmd.all_reduce sum %[[S]] over @mesh [pp] reason "the norm is of the gradients of all stages"
  // CHECK: spmd.root %[[A]] :
  // CHECK: ptl.optimize sgd weights(%[[W0]] :

  // Rank 1 gets y into its inputs, which its backward reads again.
  // CHECK: module @rank1
  // CHECK: func.func @step(%{{.*}}: {{.*}}ptl.path = "w1"
  // CHECK: %[[Y1:.*]] = rt.receive edge 0 pool 0 :
  // CHECK: rt.phase = #rt.phase<forward, stage = 1, pools = {{\[}}8]>
  // CHECK: rt.phase = #rt.phase<loss, stage = 1, pools = {{\[}}-1, 24]>
  // CHECK: rt.phase = #rt.phase<whole_backward, stage = 1, pools = {{\[}}-1, 32]>
  // CHECK: ptl.elementwise mul %{{.*}}, %[[Y1]]
  // CHECK: rt.send %{{.*}} edge 0 gradient
  func.func @step(%w0: !w {ptl.role = "weight", ptl.path = "w0"}, %w1: !w {ptl.role = "weight", ptl.path = "w1"},
      %x: !d {ptl.role = "data", ptl.path = "x"}, %step: tensor<i64> {ptl.role = "step"}, %lr: tensor<f32> {ptl.role = "hyper", ptl.path = "opt0.lr"})
      -> (!w {ptl.role = "weight", ptl.path = "w0"}, !w {ptl.role = "weight", ptl.path = "w1"}, tensor<f32> {ptl.role = "loss"},
          tensor<f32> {ptl.role = "grad_norm"}) {
    %zero = ptl.constant 0 : tensor<f32>
    %s:3 = ptl.accumulate pieces 2 (%k) -> tensor<f32>, !w, !w attributes {ptl.grad = ["", "w0", "w1"]} {
      %p = ptl.microbatch %x[%k] of 2 along batch : !d -> !x
      %b0 = ptl.broadcast %w0 {ptl.part = 0 : i64} : !w -> !x
      %y = ptl.elementwise mul %p, %b0 {ptl.part = 0 : i64} : (!x, !x) -> !x
      %b1 = ptl.broadcast %w1 {ptl.part = 1 : i64} : !w -> !x
      %z = ptl.elementwise mul %y, %b1 {ptl.part = 1 : i64} : (!x, !x) -> !x
      %l = ptl.reduce sum %z over [batch, embed] {ptl.part = 2 : i64} : !x -> tensor<f32>
      %g = ptl.elementwise exp %z {ptl.part = 2 : i64} : (!x) -> !x
      %m1 = ptl.elementwise mul %g, %y {ptl.part = 3 : i64} : (!x, !x) -> !x
      %d1 = ptl.reduce sum %m1 over [batch] {ptl.part = 3 : i64} : !x -> !w
      %gy = ptl.elementwise mul %g, %b1 {ptl.part = 3 : i64} : (!x, !x) -> !x
      %m0 = ptl.elementwise mul %gy, %p {ptl.part = 4 : i64} : (!x, !x) -> !x
      %d0 = ptl.reduce sum %m0 over [batch] {ptl.part = 4 : i64} : !x -> !w
      ptl.yield %l, %d0, %d1 : tensor<f32>, !w, !w
    }
    %q = spmd.square_sum %s#1, %s#2 members [[], []] : (!w, !w) -> !q
    %n = spmd.root %q : (!q) -> tensor<f32>
    %new:2 = ptl.optimize sgd weights(%w0, %w1 : !w, !w) grads(%s#1, %s#2 : !w, !w)
      hypers(%lr, %zero, %zero, %zero, %zero : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
      step %step : tensor<i64> names ["w0", "w1"] -> (!w, !w)
    return %new#0, %new#1, %s#0, %n : !w, !w, tensor<f32>, tensor<f32>
  }
}
