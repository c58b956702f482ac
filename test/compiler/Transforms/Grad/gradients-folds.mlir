// RUN: ptl-opt %s --grad-build-step -o %t
// RUN: ptl-run --check-gradients %s %t | FileCheck %s

// Contractions, reductions and sorting. Random weights have no ties.
// CHECK: right: gradients of 11 weights

module attributes {
  ptl.train = {batch = 3, optimizers = [{kind = "sgd", weights = ["dot_a", "dot_b", "batched_a", "batched_b", "lone_a", "lone_b", "square", "reduce_sum", "reduce_max", "reduce_min", "top_k"], lr = 0.1 : f64, momentum = 0.0 : f64, dampening = 0.0 : f64, weight_decay = 0.0 : f64}]},
  ptl.plan = {microbatches = 1 : i64}} {
func.func @loss(%dot_a: tensor<4x5xf32, #ptl.dims<[seq, embed]>> {ptl.role = "weight", ptl.path = "dot_a", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %dot_b: tensor<5x2xf32, #ptl.dims<[embed, ffn]>> {ptl.role = "weight", ptl.path = "dot_b", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %batched_a: tensor<3x4x5xf32, #ptl.dims<[batch, seq, embed]>> {ptl.role = "weight", ptl.path = "batched_a", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %batched_b: tensor<5x3x2xf32, #ptl.dims<[embed, batch, ffn]>> {ptl.role = "weight", ptl.path = "batched_b", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %lone_a: tensor<4x5xf32, #ptl.dims<[seq, embed]>> {ptl.role = "weight", ptl.path = "lone_a", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %lone_b: tensor<5x2xf32, #ptl.dims<[embed, ffn]>> {ptl.role = "weight", ptl.path = "lone_b", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %square: tensor<4x5xf32, #ptl.dims<[seq, embed]>> {ptl.role = "weight", ptl.path = "square", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %reduce_sum: tensor<3x4x5xf32, #ptl.dims<[batch, seq, embed]>> {ptl.role = "weight", ptl.path = "reduce_sum", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %reduce_max: tensor<3x4x5xf32, #ptl.dims<[batch, seq, embed]>> {ptl.role = "weight", ptl.path = "reduce_max", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %reduce_min: tensor<3x4x5xf32, #ptl.dims<[batch, seq, embed]>> {ptl.role = "weight", ptl.path = "reduce_min", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %top_k: tensor<3x5xf32, #ptl.dims<[batch, embed]>> {ptl.role = "weight", ptl.path = "top_k", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %c0: tensor<2x4xf32, #ptl.dims<[ffn, seq]>> {ptl.role = "data", ptl.path = "c0"},
                %c1: tensor<3x4x2xf32, #ptl.dims<[batch, seq, ffn]>> {ptl.role = "data", ptl.path = "c1"},
                %c2: tensor<f32> {ptl.role = "data", ptl.path = "c2"},
                %c3: tensor<4xf32, #ptl.dims<[seq]>> {ptl.role = "data", ptl.path = "c3"},
                %c4: tensor<5xf32, #ptl.dims<[embed]>> {ptl.role = "data", ptl.path = "c4"},
                %c5: tensor<5xf32, #ptl.dims<[embed]>> {ptl.role = "data", ptl.path = "c5"},
                %c6: tensor<5xf32, #ptl.dims<[embed]>> {ptl.role = "data", ptl.path = "c6"},
                %c7: tensor<3x2xf32, #ptl.dims<[batch, k]>> {ptl.role = "data", ptl.path = "c7"},
                %step: tensor<i64> {ptl.role = "step"})
    -> (tensor<f32> {ptl.role = "loss"}) {
  %v0 = ptl.dot %dot_a, %dot_b over [embed] : (tensor<4x5xf32, #ptl.dims<[seq, embed]>>, tensor<5x2xf32, #ptl.dims<[embed, ffn]>>) -> tensor<2x4xf32, #ptl.dims<[ffn, seq]>>
  %v1 = ptl.elementwise mul %v0, %c0 : (tensor<2x4xf32, #ptl.dims<[ffn, seq]>>, tensor<2x4xf32, #ptl.dims<[ffn, seq]>>) -> tensor<2x4xf32, #ptl.dims<[ffn, seq]>>
  %v2 = ptl.reduce sum %v1 over [ffn, seq] : tensor<2x4xf32, #ptl.dims<[ffn, seq]>> -> tensor<f32>
  %v3 = ptl.dot %batched_a, %batched_b over [embed] : (tensor<3x4x5xf32, #ptl.dims<[batch, seq, embed]>>, tensor<5x3x2xf32, #ptl.dims<[embed, batch, ffn]>>) -> tensor<3x4x2xf32, #ptl.dims<[batch, seq, ffn]>>
  %v4 = ptl.elementwise mul %v3, %c1 : (tensor<3x4x2xf32, #ptl.dims<[batch, seq, ffn]>>, tensor<3x4x2xf32, #ptl.dims<[batch, seq, ffn]>>) -> tensor<3x4x2xf32, #ptl.dims<[batch, seq, ffn]>>
  %v5 = ptl.reduce sum %v4 over [batch, seq, ffn] : tensor<3x4x2xf32, #ptl.dims<[batch, seq, ffn]>> -> tensor<f32>
  %v6 = ptl.dot %lone_a, %lone_b over [embed, ffn, seq] : (tensor<4x5xf32, #ptl.dims<[seq, embed]>>, tensor<5x2xf32, #ptl.dims<[embed, ffn]>>) -> tensor<f32>
  %v7 = ptl.elementwise mul %v6, %c2 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v8 = ptl.dot %square, %square over [embed] : (tensor<4x5xf32, #ptl.dims<[seq, embed]>>, tensor<4x5xf32, #ptl.dims<[seq, embed]>>) -> tensor<4xf32, #ptl.dims<[seq]>>
  %v9 = ptl.elementwise mul %v8, %c3 : (tensor<4xf32, #ptl.dims<[seq]>>, tensor<4xf32, #ptl.dims<[seq]>>) -> tensor<4xf32, #ptl.dims<[seq]>>
  %v10 = ptl.reduce sum %v9 over [seq] : tensor<4xf32, #ptl.dims<[seq]>> -> tensor<f32>
  %v11 = ptl.reduce sum %reduce_sum over [seq, batch] : tensor<3x4x5xf32, #ptl.dims<[batch, seq, embed]>> -> tensor<5xf32, #ptl.dims<[embed]>>
  %v12 = ptl.elementwise mul %v11, %c4 : (tensor<5xf32, #ptl.dims<[embed]>>, tensor<5xf32, #ptl.dims<[embed]>>) -> tensor<5xf32, #ptl.dims<[embed]>>
  %v13 = ptl.reduce sum %v12 over [embed] : tensor<5xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v14 = ptl.reduce max %reduce_max over [seq, batch] : tensor<3x4x5xf32, #ptl.dims<[batch, seq, embed]>> -> tensor<5xf32, #ptl.dims<[embed]>>
  %v15 = ptl.elementwise mul %v14, %c5 : (tensor<5xf32, #ptl.dims<[embed]>>, tensor<5xf32, #ptl.dims<[embed]>>) -> tensor<5xf32, #ptl.dims<[embed]>>
  %v16 = ptl.reduce sum %v15 over [embed] : tensor<5xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v17 = ptl.reduce min %reduce_min over [seq, batch] : tensor<3x4x5xf32, #ptl.dims<[batch, seq, embed]>> -> tensor<5xf32, #ptl.dims<[embed]>>
  %v18 = ptl.elementwise mul %v17, %c6 : (tensor<5xf32, #ptl.dims<[embed]>>, tensor<5xf32, #ptl.dims<[embed]>>) -> tensor<5xf32, #ptl.dims<[embed]>>
  %v19 = ptl.reduce sum %v18 over [embed] : tensor<5xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v20:2 = ptl.top_k %top_k embed -> k : tensor<3x5xf32, #ptl.dims<[batch, embed]>> -> (tensor<3x2xf32, #ptl.dims<[batch, k]>>, tensor<3x2xi32, #ptl.dims<[batch, k]>>)
  %v21 = ptl.elementwise mul %v20#0, %c7 : (tensor<3x2xf32, #ptl.dims<[batch, k]>>, tensor<3x2xf32, #ptl.dims<[batch, k]>>) -> tensor<3x2xf32, #ptl.dims<[batch, k]>>
  %v22 = ptl.reduce sum %v21 over [batch, k] : tensor<3x2xf32, #ptl.dims<[batch, k]>> -> tensor<f32>
  %v23 = ptl.elementwise add %v2, %v5 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v24 = ptl.elementwise add %v23, %v7 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v25 = ptl.elementwise add %v24, %v10 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v26 = ptl.elementwise add %v25, %v13 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v27 = ptl.elementwise add %v26, %v16 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v28 = ptl.elementwise add %v27, %v19 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v29 = ptl.elementwise add %v28, %v22 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %v29 : tensor<f32>
}
}
