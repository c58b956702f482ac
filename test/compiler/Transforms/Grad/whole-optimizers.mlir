// RUN: ptl-opt %s --grad-build-step --canonicalize --cse | FileCheck %s

// Muon: the direction comes from the momentum alone. The matrix is tall, so that its Gram matrix [class, class] is a fold over
// embed. With one iteration there are three products, and the rate's factor is sqrt(5 / 3). LAMB's factor is a quotient of norms.
module attributes {
  ptl.train = {batch = 4, optimizers = [
    {kind = "muon", weights = ["w"], lr = 0.1 : f64, momentum = 0.95 : f64, nesterov = true, weight_decay = 0.5 : f64, ns_steps = 1 : i64,
     a = 3.0 : f64, b = -4.0 : f64, c = 2.0 : f64, eps = 1.0e-7 : f64, adjust_lr = "original"},
    {kind = "lamb", weights = ["b"], lr = 0.1 : f64, beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-6 : f64, weight_decay = 0.5 : f64}]},
  ptl.plan = {microbatches = 1 : i64}} {

// CHECK-LABEL: func @step
// CHECK-SAME:    %[[W:[^:]*]]: tensor<5x3xf32
// CHECK-SAME:    %[[B:[^:]*]]: tensor<3xf32
// CHECK-SAME:    %[[M:[^:]*]]: tensor<5x3xf32, #ptl.dims<[embed, class]>> {ptl.init = {kind = "zeros"}, ptl.path = "w#momentum"
// CHECK-SAME:    "b#m"
// CHECK-SAME:    "b#v"
// CHECK-SAME:    %[[LR:[^:]*]]: tensor<f32> {ptl.path = "opt0.lr"
// CHECK-SAME:    %[[MOMENTUM:[^:]*]]: tensor<f32> {ptl.path = "opt0.momentum"
// CHECK-SAME:    %[[DECAY:[^:]*]]: tensor<f32> {ptl.path = "opt0.weight_decay"
// CHECK-DAG:   %[[FACTOR:.*]] = ptl.constant 1.2909944
// CHECK-DAG:   %[[ZERO:.*]] = ptl.constant 0 : tensor<f32>
// CHECK:       %[[SUMS:.*]]:3 = ptl.accumulate
// CHECK:       %[[D:.*]], %[[M1:.*]] = ptl.optimize muon weights(%[[W]] {{.*}} grads(%[[SUMS]]#1 {{.*}} states(%[[M]] {{.*}} hypers(%[[MOMENTUM]], %{{[^,]*}} : {{.*}} nesterov
// CHECK:       ptl.reduce sum %{{.*}} over [embed, class]
// CHECK:       %[[X:.*]] = ptl.elementwise div %[[D]],
// CHECK:       %[[Y:.*]] = ptl.reshape %[[X]] {{.*}}class
// CHECK:       %[[GRAM:.*]] = ptl.dot %[[X]], %[[Y]] over [embed] {{.*}} -> tensor<3x3xf32
// CHECK:       ptl.dot %[[GRAM]], %{{.*}} -> tensor<3x3xf32
// CHECK:       ptl.dot %[[Y]], %{{.*}} -> tensor<5x3xf32
// CHECK:       %[[O:.*]] = ptl.elementwise add
// CHECK:       %[[W1:.*]] = ptl.optimize apply weights(%[[W]] {{.*}} grads(%[[O]] {{.*}} hypers(%[[LR]], %[[DECAY]], %[[FACTOR]] :
// CHECK:       %[[U:.*]], %[[BM:.*]]:2 = ptl.optimize lamb weights(%[[B]]
// CHECK:       ptl.reduce sum
// CHECK:       %[[WN:.*]] = ptl.elementwise sqrt
// CHECK:       ptl.reduce sum
// CHECK:       %[[UN:.*]] = ptl.elementwise sqrt
// CHECK-DAG:   %[[BOTH:.*]] = ptl.elementwise and
// CHECK-DAG:   %[[Q:.*]] = ptl.elementwise div %[[WN]], %[[UN]]
// CHECK:       %[[TRUST:.*]] = ptl.elementwise select %[[BOTH]], %[[Q]],
// CHECK:       %[[B1:.*]] = ptl.optimize apply weights(%[[B]] {{.*}} grads(%[[U]] {{.*}}, %[[ZERO]], %[[TRUST]] :
// CHECK:       return %[[W1]], %[[B1]], %[[M1]], %[[BM]]#0, %[[BM]]#1
func.func @loss(%w: tensor<5x3xf32, #ptl.dims<[embed, class]>> {ptl.role = "weight", ptl.path = "w"},
                %b: tensor<3xf32, #ptl.dims<[class]>> {ptl.role = "weight", ptl.path = "b"},
                %x: tensor<4x5xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "x"},
                %step: tensor<i64> {ptl.role = "step"}) -> (tensor<f32> {ptl.role = "loss"}) {
  %y = ptl.dot %x, %w over [embed] : (tensor<4x5xf32, #ptl.dims<[batch, embed]>>, tensor<5x3xf32, #ptl.dims<[embed, class]>>) -> tensor<4x3xf32, #ptl.dims<[batch, class]>>
  %bb = ptl.broadcast %b : tensor<3xf32, #ptl.dims<[class]>> -> tensor<4x3xf32, #ptl.dims<[batch, class]>>
  %z = ptl.elementwise mul %y, %bb : (tensor<4x3xf32, #ptl.dims<[batch, class]>>, tensor<4x3xf32, #ptl.dims<[batch, class]>>) -> tensor<4x3xf32, #ptl.dims<[batch, class]>>
  %sum = ptl.reduce sum %z over [batch, class] : tensor<4x3xf32, #ptl.dims<[batch, class]>> -> tensor<f32>
  return %sum : tensor<f32>
}
}
