// RUN: ptl-opt %s --grad-build-step -o %t
// RUN: ptl-run --check-gradients %s %t | FileCheck %s
// RUN: sed 's/microbatches = 3/microbatches = 1/' %s | ptl-opt --grad-build-step -o %t.whole
// RUN: ptl-run --f64 --compare %t.whole %t | FileCheck %s --check-prefix=SAME

// Three equal pieces: tokens merged from the batch, dropout by global index, a tied table, a count of targets, and a penalty that each piece counts by a third.
// CHECK: right: gradients of 3 weights
// SAME: equal

module attributes {
  ptl.train = {batch = 6, optimizers = [{kind = "sgd", weights = ["wte", "wpe", "bias"], lr = 0.1 : f64, momentum = 0.0 : f64, dampening = 0.0 : f64, weight_decay = 0.0 : f64}]},
  ptl.plan = {microbatches = 3 : i64}} {
func.func @loss(%wte: tensor<7x6xf32, #ptl.dims<[vocab, embed]>> {ptl.role = "weight", ptl.path = "wte", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %wpe: tensor<4x6xf32, #ptl.dims<[seq, embed]>> {ptl.role = "weight", ptl.path = "wpe", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %bias: tensor<6xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "bias", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %ids: tensor<6x4xi32, #ptl.dims<[batch, seq]>> {ptl.role = "data", ptl.path = "ids", ptl.limit = 7 : i64},
                %targets: tensor<6x4xi32, #ptl.dims<[batch, seq]>> {ptl.role = "data", ptl.path = "targets", ptl.limit = 7 : i64},
                %step: tensor<i64> {ptl.role = "step"})
    -> (tensor<f32> {ptl.role = "loss"}) {
  %v0 = ptl.gather %wte[vocab : %ids] : (tensor<7x6xf32, #ptl.dims<[vocab, embed]>>, tensor<6x4xi32, #ptl.dims<[batch, seq]>>) -> tensor<6x4x6xf32, #ptl.dims<[batch, seq, embed]>>
  %v1 = ptl.broadcast %wpe : tensor<4x6xf32, #ptl.dims<[seq, embed]>> -> tensor<6x4x6xf32, #ptl.dims<[batch, seq, embed]>>
  %v2 = ptl.elementwise add %v0, %v1 : (tensor<6x4x6xf32, #ptl.dims<[batch, seq, embed]>>, tensor<6x4x6xf32, #ptl.dims<[batch, seq, embed]>>) -> tensor<6x4x6xf32, #ptl.dims<[batch, seq, embed]>>
  %v3 = ptl.random uniform place "drop#0" step %step : tensor<i64> -> tensor<6x4x6xf32, #ptl.dims<[batch, seq, embed]>>
  %v4 = ptl.constant 0.25 : tensor<6x4x6xf32, #ptl.dims<[batch, seq, embed]>>
  %v5 = ptl.elementwise ge %v3, %v4 : (tensor<6x4x6xf32, #ptl.dims<[batch, seq, embed]>>, tensor<6x4x6xf32, #ptl.dims<[batch, seq, embed]>>) -> tensor<6x4x6xi1, #ptl.dims<[batch, seq, embed]>>
  %v6 = ptl.constant 1.25 : tensor<6x4x6xf32, #ptl.dims<[batch, seq, embed]>>
  %v7 = ptl.elementwise mul %v2, %v6 : (tensor<6x4x6xf32, #ptl.dims<[batch, seq, embed]>>, tensor<6x4x6xf32, #ptl.dims<[batch, seq, embed]>>) -> tensor<6x4x6xf32, #ptl.dims<[batch, seq, embed]>>
  %v8 = ptl.constant 0 : tensor<6x4x6xf32, #ptl.dims<[batch, seq, embed]>>
  %v9 = ptl.elementwise select %v5, %v7, %v8 : (tensor<6x4x6xi1, #ptl.dims<[batch, seq, embed]>>, tensor<6x4x6xf32, #ptl.dims<[batch, seq, embed]>>, tensor<6x4x6xf32, #ptl.dims<[batch, seq, embed]>>) -> tensor<6x4x6xf32, #ptl.dims<[batch, seq, embed]>>
  %v10:3 = ptl.layer_norm %v9 over embed eps 1.0e-05 : (tensor<6x4x6xf32, #ptl.dims<[batch, seq, embed]>>) -> (tensor<6x4x6xf32, #ptl.dims<[batch, seq, embed]>>, tensor<6x4xf32, #ptl.dims<[batch, seq]>>, tensor<6x4xf32, #ptl.dims<[batch, seq]>>)
  %v11 = ptl.broadcast %bias : tensor<6xf32, #ptl.dims<[embed]>> -> tensor<6x4x6xf32, #ptl.dims<[batch, seq, embed]>>
  %v12 = ptl.elementwise add %v10#0, %v11 : (tensor<6x4x6xf32, #ptl.dims<[batch, seq, embed]>>, tensor<6x4x6xf32, #ptl.dims<[batch, seq, embed]>>) -> tensor<6x4x6xf32, #ptl.dims<[batch, seq, embed]>>
  %v13 = ptl.reshape %v12 [[batch, seq] -> [tokens]] : tensor<6x4x6xf32, #ptl.dims<[batch, seq, embed]>> -> tensor<24x6xf32, #ptl.dims<[tokens, embed]>>
  %v14 = ptl.reshape %targets [[batch, seq] -> [tokens]] : tensor<6x4xi32, #ptl.dims<[batch, seq]>> -> tensor<24xi32, #ptl.dims<[tokens]>>
  %v15 = ptl.dot %v13, %wte over [embed] : (tensor<24x6xf32, #ptl.dims<[tokens, embed]>>, tensor<7x6xf32, #ptl.dims<[vocab, embed]>>) -> tensor<24x7xf32, #ptl.dims<[tokens, vocab]>>
  %v16:2 = ptl.cross_entropy %v15, %v14 over vocab ignore 3 : (tensor<24x7xf32, #ptl.dims<[tokens, vocab]>>, tensor<24xi32, #ptl.dims<[tokens]>>) -> (tensor<24xf32, #ptl.dims<[tokens]>>, tensor<24xf32, #ptl.dims<[tokens]>>)
  %v17 = ptl.reduce sum %v16#0 over [tokens] : tensor<24xf32, #ptl.dims<[tokens]>> -> tensor<f32>
  %v18 = ptl.constant 3 : tensor<24xi32, #ptl.dims<[tokens]>>
  %v19 = ptl.elementwise ne %v14, %v18 : (tensor<24xi32, #ptl.dims<[tokens]>>, tensor<24xi32, #ptl.dims<[tokens]>>) -> tensor<24xi1, #ptl.dims<[tokens]>>
  %v20 = ptl.elementwise cast %v19 : (tensor<24xi1, #ptl.dims<[tokens]>>) -> tensor<24xf32, #ptl.dims<[tokens]>>
  %v21 = ptl.reduce sum %v20 over [tokens] : tensor<24xf32, #ptl.dims<[tokens]>> -> tensor<f32>
  %v22 = ptl.constant 1 : tensor<f32>
  %v23 = ptl.elementwise max %v21, %v22 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v24 = ptl.elementwise div %v17, %v23 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v25 = ptl.elementwise mul %bias, %bias : (tensor<6xf32, #ptl.dims<[embed]>>, tensor<6xf32, #ptl.dims<[embed]>>) -> tensor<6xf32, #ptl.dims<[embed]>>
  %v26 = ptl.reduce sum %v25 over [embed] : tensor<6xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v27 = ptl.constant 0.1 : tensor<f32>
  %v28 = ptl.elementwise mul %v26, %v27 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v29 = ptl.elementwise add %v24, %v28 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %v29 : tensor<f32>
}
}
