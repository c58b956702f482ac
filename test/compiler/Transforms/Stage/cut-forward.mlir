// RUN: ptl-opt %s --stage-cut-stages --mlir-print-local-scope | FileCheck %s

!x = tensor<2x8xf32, #ptl.dims<[batch, embed]>>
!m = tensor<2x8xi1, #ptl.dims<[batch, embed]>>
!w = tensor<8xf32, #ptl.dims<[embed]>>
!q = tensor<12xi64, #ptl.dims<[digits]>>

// Stage 0 makes y, a mask and a total; stage 1 reads y and the mask. Each rank has its own weight, data and total, and both return the
// same. Constants, and what is made of weights alone (%b1), are made where they are read; what the loop reads of stage 0 (%h) is handed on
// in the loop.
// CHECK: module @rank0
// CHECK: func.func @eval(%[[W0:[a-z0-9]*]]: {{.*}}ptl.path = "w0"{{.*}}ptl.path = "x"
// CHECK-NOT: "w1"
// CHECK-NOT: rt.exchange
// CHECK: %[[T0:.*]] = ptl.accumulate pieces 1 (%{{.*}}) -> tensor<f32> attributes {ptl.over_batches} {
// CHECK: %[[H:.*]] = ptl.reduce sum %[[W0]]
// CHECK: rt.exchange %[[H]] with 1
// CHECK: %[[Y:.*]] = ptl.elementwise mul
// CHECK: %[[M:.*]] = ptl.elementwise lt
// CHECK: %[[A:.*]] = ptl.reduce sum %[[Y]]
// CHECK: rt.exchange %[[Y]], %[[M]] with 1 : {{.*}} -> ()
// CHECK: ptl.yield %[[A]] : tensor<f32>
// CHECK: %[[N:.*]] = ptl.elementwise neg %[[T0]]
// CHECK: rt.exchange %[[N]] with 1 : (tensor<f32>) -> ()
// CHECK: %[[L:.*]] = rt.exchange with 1 : () -> tensor<f32>
// CHECK: return %[[L]], %[[N]]
// CHECK: func.func @logits(%{{.*}}ptl.path = "x"{{.*}}) {
// CHECK: rt.exchange %{{.*}} with 1
// CHECK: return{{$}}

// CHECK: module @rank1
// CHECK: func.func @eval(%[[W1:[a-z0-9]*]]: {{[^{]*}}{ptl.path = "w1", ptl.role = "weight"}) ->
// CHECK: %[[T1:.*]] = ptl.accumulate pieces 1
// CHECK: %[[H1:.*]] = rt.exchange with 0 : () -> tensor<f32>
// CHECK: %[[IN:.*]]:2 = rt.exchange with 0 : () -> (tensor<2x8xf32, {{.*}}>, tensor<2x8xi1, {{.*}}>)
// CHECK: %[[B:.*]] = ptl.broadcast %[[W1]]
// CHECK: %[[Z:.*]] = ptl.elementwise mul %[[IN]]#0, %[[B]] :
// CHECK: ptl.elementwise select %[[IN]]#1, %[[Z]]
// CHECK: ptl.elementwise mul %{{.*}}, %[[H1]]
// CHECK: ptl.yield %{{.*}} : tensor<f32>
// CHECK: %[[N1:.*]] = rt.exchange with 0 : () -> tensor<f32>
// CHECK: %[[E:.*]] = ptl.elementwise exp %[[T1]]
// CHECK: rt.exchange %[[E]] with 0
// CHECK: return %[[E]], %[[N1]]
// Logits stay where they are.
// CHECK: func.func @logits(%{{.*}}: {{.*}}ptl.path = "w1"{{.*}}) -> (tensor<2x8xf32, {{.*}}> {ptl.role = "logits"})
// CHECK: rt.exchange with 0
// CHECK: return %
module attributes {ptl.stages = 2 : i64, ptl.train = {}, ptl.plan = {mesh = [{name = "pp", size = 2 : i64}], microbatches = 1 : i64,
    pipeline = {axis = "pp", parts = ["a.0", "a.1"], cuts = [], schedule = "one_f_one_b", chunks = 1 : i64, orders = "", line = ""}}} {
  spmd.mesh @mesh [pp = 2]
  func.func @step(%w0: !w {ptl.role = "weight", ptl.path = "w0"}, %w1: !w {ptl.role = "weight", ptl.path = "w1"},
      %x: !x {ptl.role = "data", ptl.path = "x"}, %step: tensor<i64> {ptl.role = "step"}, %lr: tensor<f32> {ptl.role = "hyper", ptl.path = "opt0.lr"})
      -> (!w {ptl.role = "weight", ptl.path = "w0"}, !w {ptl.role = "weight", ptl.path = "w1"}, tensor<f32> {ptl.role = "loss"},
          tensor<f32> {ptl.role = "grad_norm"}) {
    %zero = ptl.constant 0 : tensor<f32>
    %s:3 = ptl.accumulate pieces 1 (%k) -> tensor<f32>, !w, !w attributes {ptl.grad = ["", "w0", "w1"]} {
      %b0 = ptl.broadcast %w0 {ptl.part = 0 : i64} : !w -> !x
      %y = ptl.elementwise mul %x, %b0 {ptl.part = 0 : i64} : (!x, !x) -> !x
      %b1 = ptl.broadcast %w1 {ptl.part = 1 : i64} : !w -> !x
      %z = ptl.elementwise mul %y, %b1 {ptl.part = 1 : i64} : (!x, !x) -> !x
      %l = ptl.reduce sum %z over [batch, embed] {ptl.part = 2 : i64} : !x -> tensor<f32>
      %g = ptl.elementwise exp %z {ptl.part = 2 : i64} : (!x) -> !x
      %m1 = ptl.elementwise mul %g, %y {ptl.part = 3 : i64} : (!x, !x) -> !x
      %d1 = ptl.reduce sum %m1 over [batch] {ptl.part = 3 : i64} : !x -> !w
      %gy = ptl.elementwise mul %g, %b1 {ptl.part = 3 : i64} : (!x, !x) -> !x
      %m0 = ptl.elementwise mul %gy, %x {ptl.part = 4 : i64} : (!x, !x) -> !x
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
  func.func @eval(%w0: !w {ptl.role = "weight", ptl.path = "w0"}, %w1: !w {ptl.role = "weight", ptl.path = "w1"},
      %x: !x {ptl.role = "data", ptl.path = "x"}) -> (tensor<f32> {ptl.role = "loss"}, tensor<f32> {ptl.role = "metric", ptl.path = "size"}) {
    %h = ptl.reduce sum %w0 over [embed] {ptl.part = 0 : i64} : !w -> tensor<f32>
    %zero = ptl.constant 0 {ptl.part = 0 : i64} : !x
    %s:2 = ptl.accumulate pieces 1 (%k) -> tensor<f32>, tensor<f32> attributes {ptl.over_batches} {
      %b0 = ptl.broadcast %w0 {ptl.part = 0 : i64} : !w -> !x
      %y = ptl.elementwise mul %x, %b0 {ptl.part = 0 : i64} : (!x, !x) -> !x
      %m = ptl.elementwise lt %x, %zero {ptl.part = 0 : i64} : (!x, !x) -> !m
      %a = ptl.reduce sum %y over [batch, embed] : !x -> tensor<f32>
      %b1 = ptl.broadcast %w1 : !w -> !x
      %z = ptl.elementwise mul %y, %b1 {ptl.part = 1 : i64} : (!x, !x) -> !x
      %c = ptl.elementwise select %m, %z, %zero {ptl.part = 1 : i64} : (!m, !x, !x) -> !x
      %l = ptl.reduce sum %c over [batch, embed] {ptl.part = 2 : i64} : !x -> tensor<f32>
      %lh = ptl.elementwise mul %l, %h {ptl.part = 2 : i64} : (tensor<f32>, tensor<f32>) -> tensor<f32>
      ptl.yield %lh, %a : tensor<f32>, tensor<f32>
    }
    %e = ptl.elementwise exp %s#0 {ptl.part = 2 : i64} : (tensor<f32>) -> tensor<f32>
    %n = ptl.elementwise neg %s#1 : (tensor<f32>) -> tensor<f32>
    return %e, %n : tensor<f32>, tensor<f32>
  }
  func.func @logits(%w0: !w {ptl.role = "weight", ptl.path = "w0"}, %w1: !w {ptl.role = "weight", ptl.path = "w1"},
      %x: !x {ptl.role = "data", ptl.path = "x"}) -> (!x {ptl.role = "logits"}) {
    %b0 = ptl.broadcast %w0 {ptl.part = 0 : i64} : !w -> !x
    %y = ptl.elementwise mul %x, %b0 {ptl.part = 0 : i64} : (!x, !x) -> !x
    %b1 = ptl.broadcast %w1 {ptl.part = 1 : i64} : !w -> !x
    %z = ptl.elementwise mul %y, %b1 {ptl.part = 1 : i64} : (!x, !x) -> !x
    return %z : !x
  }
}
