// RUN: ptl-opt %s --grad-build-step -o %t
// RUN: ptl-run --check-gradients %s %t | FileCheck %s
// RUN: sed 's/microbatches = 3/microbatches = 1/' %s | ptl-opt --grad-build-step -o %t.whole
// RUN: ptl-run --f64 --compare %t.whole %t | FileCheck %s --check-prefix=SAME

// Seven samples in pieces of 3, 3 and 1: rows of padding don't count.
// CHECK: right: gradients of 3 weights
// SAME: equal

module attributes {
  ptl.train = {batch = 7, optimizers = [{kind = "sgd", weights = ["wte", "wpe", "bias"], lr = 0.1 : f64, momentum = 0.0 : f64, dampening = 0.0 : f64, weight_decay = 0.0 : f64}]},
  ptl.plan = {microbatches = 3 : i64}} {
func.func @loss(%wte: tensor<7x6xf32, #ptl.dims<[vocab, embed]>> {ptl.role = "weight", ptl.path = "wte", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %wpe: tensor<4x6xf32, #ptl.dims<[seq, embed]>> {ptl.role = "weight", ptl.path = "wpe", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %bias: tensor<6xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "bias", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %ids: tensor<7x4xi32, #ptl.dims<[batch, seq]>> {ptl.role = "data", ptl.path = "ids", ptl.limit = 7 : i64},
                %targets: tensor<7x4xi32, #ptl.dims<[batch, seq]>> {ptl.role = "data", ptl.path = "targets", ptl.limit = 7 : i64},
                %step: tensor<i64> {ptl.role = "step"})
    -> (tensor<f32> {ptl.role = "loss"}) {
  %v0 = ptl.gather %wte[vocab : %ids] : (tensor<7x6xf32, #ptl.dims<[vocab, embed]>>, tensor<7x4xi32, #ptl.dims<[batch, seq]>>) -> tensor<7x4x6xf32, #ptl.dims<[batch, seq, embed]>>
  %v1 = ptl.broadcast %wpe : tensor<4x6xf32, #ptl.dims<[seq, embed]>> -> tensor<7x4x6xf32, #ptl.dims<[batch, seq, embed]>>
  %v2 = ptl.elementwise add %v0, %v1 : (tensor<7x4x6xf32, #ptl.dims<[batch, seq, embed]>>, tensor<7x4x6xf32, #ptl.dims<[batch, seq, embed]>>) -> tensor<7x4x6xf32, #ptl.dims<[batch, seq, embed]>>
  %v3 = ptl.random uniform place "drop#0" step %step : tensor<i64> -> tensor<7x4x6xf32, #ptl.dims<[batch, seq, embed]>>
  %v4 = ptl.constant 0.25 : tensor<7x4x6xf32, #ptl.dims<[batch, seq, embed]>>
  %v5 = ptl.elementwise ge %v3, %v4 : (tensor<7x4x6xf32, #ptl.dims<[batch, seq, embed]>>, tensor<7x4x6xf32, #ptl.dims<[batch, seq, embed]>>) -> tensor<7x4x6xi1, #ptl.dims<[batch, seq, embed]>>
  %v6 = ptl.constant 1.25 : tensor<7x4x6xf32, #ptl.dims<[batch, seq, embed]>>
  %v7 = ptl.elementwise mul %v2, %v6 : (tensor<7x4x6xf32, #ptl.dims<[batch, seq, embed]>>, tensor<7x4x6xf32, #ptl.dims<[batch, seq, embed]>>) -> tensor<7x4x6xf32, #ptl.dims<[batch, seq, embed]>>
  %v8 = ptl.constant 0 : tensor<7x4x6xf32, #ptl.dims<[batch, seq, embed]>>
  %v9 = ptl.elementwise select %v5, %v7, %v8 : (tensor<7x4x6xi1, #ptl.dims<[batch, seq, embed]>>, tensor<7x4x6xf32, #ptl.dims<[batch, seq, embed]>>, tensor<7x4x6xf32, #ptl.dims<[batch, seq, embed]>>) -> tensor<7x4x6xf32, #ptl.dims<[batch, seq, embed]>>
  %v10:3 = ptl.layer_norm %v9 over embed eps 1.0e-05 : (tensor<7x4x6xf32, #ptl.dims<[batch, seq, embed]>>) -> (tensor<7x4x6xf32, #ptl.dims<[batch, seq, embed]>>, tensor<7x4xf32, #ptl.dims<[batch, seq]>>, tensor<7x4xf32, #ptl.dims<[batch, seq]>>)
  %v11 = ptl.broadcast %bias : tensor<6xf32, #ptl.dims<[embed]>> -> tensor<7x4x6xf32, #ptl.dims<[batch, seq, embed]>>
  %v12 = ptl.elementwise add %v10#0, %v11 : (tensor<7x4x6xf32, #ptl.dims<[batch, seq, embed]>>, tensor<7x4x6xf32, #ptl.dims<[batch, seq, embed]>>) -> tensor<7x4x6xf32, #ptl.dims<[batch, seq, embed]>>
  %v13 = ptl.dot %v12, %wte over [embed] : (tensor<7x4x6xf32, #ptl.dims<[batch, seq, embed]>>, tensor<7x6xf32, #ptl.dims<[vocab, embed]>>) -> tensor<7x4x7xf32, #ptl.dims<[batch, seq, vocab]>>
  %v14:2 = ptl.cross_entropy %v13, %targets over vocab ignore 3 : (tensor<7x4x7xf32, #ptl.dims<[batch, seq, vocab]>>, tensor<7x4xi32, #ptl.dims<[batch, seq]>>) -> (tensor<7x4xf32, #ptl.dims<[batch, seq]>>, tensor<7x4xf32, #ptl.dims<[batch, seq]>>)
  %v15 = ptl.reduce sum %v14#0 over [batch, seq] : tensor<7x4xf32, #ptl.dims<[batch, seq]>> -> tensor<f32>
  %v16 = ptl.constant 3 : tensor<7x4xi32, #ptl.dims<[batch, seq]>>
  %v17 = ptl.elementwise ne %targets, %v16 : (tensor<7x4xi32, #ptl.dims<[batch, seq]>>, tensor<7x4xi32, #ptl.dims<[batch, seq]>>) -> tensor<7x4xi1, #ptl.dims<[batch, seq]>>
  %v18 = ptl.elementwise cast %v17 : (tensor<7x4xi1, #ptl.dims<[batch, seq]>>) -> tensor<7x4xf32, #ptl.dims<[batch, seq]>>
  %v19 = ptl.reduce sum %v18 over [batch, seq] : tensor<7x4xf32, #ptl.dims<[batch, seq]>> -> tensor<f32>
  %v20 = ptl.constant 1 : tensor<f32>
  %v21 = ptl.elementwise max %v19, %v20 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v22 = ptl.elementwise div %v15, %v21 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v23 = ptl.elementwise mul %bias, %bias : (tensor<6xf32, #ptl.dims<[embed]>>, tensor<6xf32, #ptl.dims<[embed]>>) -> tensor<6xf32, #ptl.dims<[embed]>>
  %v24 = ptl.reduce sum %v23 over [embed] : tensor<6xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v25 = ptl.constant 0.1 : tensor<f32>
  %v26 = ptl.elementwise mul %v24, %v25 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v27 = ptl.elementwise add %v22, %v26 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %v27 : tensor<f32>
}
}
