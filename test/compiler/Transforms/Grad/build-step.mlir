// RUN: ptl-opt %s --grad-build-step --canonicalize --cse | FileCheck %s

// A linear model with a masked loss on two micro-batches. The count of targets depends on data alone, so it
// is added up first; each piece then divides by the whole count. w decays (two dimensions), b doesn't.
module attributes {
  ptl.train = {batch = 4, clip = 1.0 : f64,
               optimizers = [{kind = "adamw", weights = ["w", "b"], lr = 0.1 : f64, beta1 = 0.9 : f64, beta2 = 0.95 : f64,
                              eps = 1.0e-8 : f64, weight_decay = 0.5 : f64}]},
  ptl.plan = {microbatches = 2 : i64}} {

// CHECK-LABEL: func @step
// CHECK-SAME:    %[[W:[^:]*]]: tensor<3x5xf32, #ptl.dims<[embed, class]>> {ptl.path = "w", ptl.role = "weight"}
// CHECK-SAME:    %[[B:[^:]*]]: tensor<5xf32, #ptl.dims<[class]>>
// CHECK-SAME:    %[[WM:[^:]*]]: tensor<3x5xf32, #ptl.dims<[embed, class]>> {ptl.init = {kind = "zeros"}, ptl.path = "w#m", ptl.role = "state"}
// CHECK-SAME:    "w#v"
// CHECK-SAME:    "b#m"
// CHECK-SAME:    "b#v"
// CHECK-SAME:    %[[X:[^:]*]]: tensor<4x3xf32, #ptl.dims<[batch, embed]>>
// CHECK-SAME:    %[[T:[^:]*]]: tensor<4xi32, #ptl.dims<[batch]>>
// CHECK-SAME:    %[[STEP:[^:]*]]: tensor<i64>
// CHECK-SAME:    %[[LR:[^:]*]]: tensor<f32> {ptl.path = "opt0.lr", ptl.role = "hyper", ptl.value = 1.000000e-01 : f64}
// CHECK-SAME:    "opt0.beta1"
// CHECK-SAME:    "opt0.beta2"
// CHECK-SAME:    "opt0.eps"
// CHECK-SAME:    %[[DECAY:[^:]*]]: tensor<f32> {ptl.path = "opt0.weight_decay"
// CHECK-SAME:    %[[CLIP:[^:]*]]: tensor<f32> {ptl.path = "clip"
// CHECK-SAME:    ptl.path = "w", ptl.role = "weight"
// CHECK-SAME:    ptl.path = "b", ptl.role = "weight"
// CHECK-SAME:    ptl.path = "w#m", ptl.role = "state"
// CHECK-SAME:    ptl.role = "loss"
// CHECK-SAME:    ptl.role = "grad_norm"
// CHECK-SAME:    ptl.path = "count", ptl.role = "metric"

// CHECK:       %[[ZERO:.*]] = ptl.constant 0 : tensor<f32>
// CHECK:       %[[COUNT:.*]] = ptl.accumulate pieces 2 (%[[I:.*]]) -> tensor<f32>
// CHECK-NEXT:    ptl.microbatch %[[T]][%[[I]]] of 2 along batch
// CHECK-NOT:     ptl.dot
// CHECK:         ptl.reduce sum
// CHECK-NEXT:    ptl.yield
// CHECK:       %[[SUMS:.*]]:4 = ptl.accumulate pieces 2 (%[[K:.*]]) -> tensor<f32>, tensor<f32>, tensor<3x5xf32, #ptl.dims<[embed, class]>>, tensor<5xf32, #ptl.dims<[class]>> attributes {ptl.grad = ["", "", "w", "b"]}
// CHECK-DAG:     %[[XK:.*]] = ptl.microbatch %[[X]][%[[K]]] of 2 along batch
// CHECK-DAG:     %[[TK:.*]] = ptl.microbatch %[[T]][%[[K]]] of 2 along batch
// CHECK:         %[[Z:.*]] = ptl.elementwise add
// CHECK:         ptl.cross_entropy %[[Z]], %[[TK]]
// CHECK:         %[[SUM:.*]] = ptl.reduce sum
// CHECK:         %[[LOSS:.*]] = ptl.elementwise div %[[SUM]], %[[COUNT]]
// CHECK:         %[[DZ:.*]] = ptl.cross_entropy_grad {{.*}}, %[[Z]], %[[TK]]
// CHECK:         %[[DB:.*]] = ptl.reduce sum %[[DZ]] over [batch]
// CHECK:         %[[DW:.*]] = ptl.dot %[[DZ]], %[[XK]] over [batch]
// CHECK:         ptl.yield %[[LOSS]], %{{.*}}, %[[DW]], %[[DB]]
// CHECK:       %[[NORM:.*]] = ptl.global_norm %[[SUMS]]#2, %[[SUMS]]#3
// CHECK:       %[[RATIO:.*]] = ptl.elementwise div %[[CLIP]]
// CHECK:       %[[SCALE:.*]] = ptl.elementwise min %[[RATIO]]
// CHECK:       ptl.optimize adamw weights(%[[W]] {{.*}} grads(%[[SUMS]]#2 {{.*}}, %[[DECAY]], %[[SCALE]] :
// CHECK:       ptl.optimize adamw weights(%[[B]] {{.*}} grads(%[[SUMS]]#3 {{.*}}, %[[ZERO]], %[[SCALE]] :
// CHECK:       return {{.*}}, %[[SUMS]]#0, %[[NORM]], %[[SUMS]]#1
// CHECK-NOT:   func @loss
func.func @loss(%w: tensor<3x5xf32, #ptl.dims<[embed, class]>> {ptl.role = "weight", ptl.path = "w"},
                %b: tensor<5xf32, #ptl.dims<[class]>> {ptl.role = "weight", ptl.path = "b"},
                %x: tensor<4x3xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "x"},
                %t: tensor<4xi32, #ptl.dims<[batch]>> {ptl.role = "data", ptl.path = "t"},
                %step: tensor<i64> {ptl.role = "step"})
    -> (tensor<f32> {ptl.role = "loss"}, tensor<f32> {ptl.role = "metric", ptl.path = "count"}) {
  %y = ptl.dot %x, %w over [embed] : (tensor<4x3xf32, #ptl.dims<[batch, embed]>>, tensor<3x5xf32, #ptl.dims<[embed, class]>>) -> tensor<4x5xf32, #ptl.dims<[batch, class]>>
  %bb = ptl.broadcast %b : tensor<5xf32, #ptl.dims<[class]>> -> tensor<4x5xf32, #ptl.dims<[batch, class]>>
  %z = ptl.elementwise add %y, %bb : (tensor<4x5xf32, #ptl.dims<[batch, class]>>, tensor<4x5xf32, #ptl.dims<[batch, class]>>) -> tensor<4x5xf32, #ptl.dims<[batch, class]>>
  %l:2 = ptl.cross_entropy %z, %t over class ignore -1 : (tensor<4x5xf32, #ptl.dims<[batch, class]>>, tensor<4xi32, #ptl.dims<[batch]>>) -> (tensor<4xf32, #ptl.dims<[batch]>>, tensor<4xf32, #ptl.dims<[batch]>>)
  %sum = ptl.reduce sum %l#0 over [batch] : tensor<4xf32, #ptl.dims<[batch]>> -> tensor<f32>
  %none = ptl.constant -1 : tensor<4xi32, #ptl.dims<[batch]>>
  %real = ptl.elementwise ne %t, %none : (tensor<4xi32, #ptl.dims<[batch]>>, tensor<4xi32, #ptl.dims<[batch]>>) -> tensor<4xi1, #ptl.dims<[batch]>>
  %ones = ptl.elementwise cast %real : (tensor<4xi1, #ptl.dims<[batch]>>) -> tensor<4xf32, #ptl.dims<[batch]>>
  %count = ptl.reduce sum %ones over [batch] : tensor<4xf32, #ptl.dims<[batch]>> -> tensor<f32>
  %loss = ptl.elementwise div %sum, %count : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %loss, %count : tensor<f32>, tensor<f32>
}
}
