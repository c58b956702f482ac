// RUN: ptl-opt %s --split-input-file --grad-build-step --canonicalize | FileCheck %s

!t = tensor<5x3xf32, #ptl.dims<[vocab, embed]>>
!ids = tensor<4xi32, #ptl.dims<[batch]>>
!x = tensor<4x3xf32, #ptl.dims<[batch, embed]>>

// A table that is looked up and then multiplied has an accumulator for each use, in this order; they are
// added behind the loop, and the sum is the weight's gradient.
module attributes {ptl.train = {optimizers = [{kind = "sgd", weights = ["t"], lr = 0.1 : f64, momentum = 0.0 : f64, dampening = 0.0 : f64, weight_decay = 0.0 : f64, nesterov = false}]},
                   ptl.plan = {microbatches = 2 : i64, reproducible = true}} {
  // CHECK-LABEL: func @step
  // CHECK: %[[S:.*]]:3 = ptl.accumulate pieces 2
  // CHECK-DAG: %[[LOOKUP:.*]] = ptl.scatter_add
  // CHECK-DAG: %[[PRODUCT:.*]] = ptl.dot %{{.*}} over [batch]{{.*}} -> tensor<5x3xf32
  // CHECK: ptl.yield %{{[^,]*}}, %[[LOOKUP]], %[[PRODUCT]]
  // CHECK: %[[G:.*]] = ptl.elementwise add %[[S]]#1, %[[S]]#2 {ptl.grad = "t"}
  // CHECK: ptl.global_norm %[[G]]
  func.func @loss(%t: !t {ptl.role = "weight", ptl.path = "t"}, %ids: !ids {ptl.role = "data", ptl.path = "ids"},
      %step: tensor<i64> {ptl.role = "step"}) -> (tensor<f32> {ptl.role = "loss"}) {
    %h = ptl.gather %t[vocab : %ids] : (!t, !ids) -> !x
    %z = ptl.dot %h, %t over [embed] : (!x, !t) -> tensor<4x5xf32, #ptl.dims<[batch, vocab]>>
    %l = ptl.reduce sum %z over [batch, vocab] : tensor<4x5xf32, #ptl.dims<[batch, vocab]>> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

!t = tensor<5x3xf32, #ptl.dims<[vocab, embed]>>
!ids = tensor<4xi32, #ptl.dims<[batch]>>
!x = tensor<4x3xf32, #ptl.dims<[batch, embed]>>

// Without `reproducible` one accumulator is enough.
module attributes {ptl.train = {optimizers = [{kind = "sgd", weights = ["t"], lr = 0.1 : f64, momentum = 0.0 : f64, dampening = 0.0 : f64, weight_decay = 0.0 : f64, nesterov = false}]},
                   ptl.plan = {microbatches = 2 : i64, reproducible = false}} {
  // CHECK-LABEL: func @step
  // CHECK: %{{.*}}:2 = ptl.accumulate pieces 2 {{.*}} attributes {ptl.grad = ["", "t"]}
  func.func @loss(%t: !t {ptl.role = "weight", ptl.path = "t"}, %ids: !ids {ptl.role = "data", ptl.path = "ids"},
      %step: tensor<i64> {ptl.role = "step"}) -> (tensor<f32> {ptl.role = "loss"}) {
    %h = ptl.gather %t[vocab : %ids] : (!t, !ids) -> !x
    %z = ptl.dot %h, %t over [embed] : (!x, !t) -> tensor<4x5xf32, #ptl.dims<[batch, vocab]>>
    %l = ptl.reduce sum %z over [batch, vocab] : tensor<4x5xf32, #ptl.dims<[batch, vocab]>> -> tensor<f32>
    return %l : tensor<f32>
  }
}
