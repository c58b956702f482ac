// RUN: ptl-opt %s --grad-build-step -o %t
// RUN: ptl-run --check-gradients %s %t | FileCheck %s

// Composites by their X_grad operations.
// CHECK: right: gradients of 7 weights

module attributes {
  ptl.train = {batch = 3, optimizers = [{kind = "sgd", weights = ["softmax", "log_softmax", "layer_norm", "rms_norm", "rope", "inverse_rope", "cross_entropy"], lr = 0.1 : f64, momentum = 0.0 : f64, dampening = 0.0 : f64, weight_decay = 0.0 : f64}]},
  ptl.plan = {microbatches = 1 : i64}} {
func.func @loss(%softmax: tensor<3x6xf32, #ptl.dims<[batch, embed]>> {ptl.role = "weight", ptl.path = "softmax", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %log_softmax: tensor<3x6xf32, #ptl.dims<[batch, embed]>> {ptl.role = "weight", ptl.path = "log_softmax", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %layer_norm: tensor<3x6xf32, #ptl.dims<[batch, embed]>> {ptl.role = "weight", ptl.path = "layer_norm", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %rms_norm: tensor<3x6xf32, #ptl.dims<[batch, embed]>> {ptl.role = "weight", ptl.path = "rms_norm", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %rope: tensor<3x6x4xf32, #ptl.dims<[batch, embed, seq]>> {ptl.role = "weight", ptl.path = "rope", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %inverse_rope: tensor<4x6xf32, #ptl.dims<[seq, embed]>> {ptl.role = "weight", ptl.path = "inverse_rope", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %cross_entropy: tensor<3x4x5xf32, #ptl.dims<[batch, seq, vocab]>> {ptl.role = "weight", ptl.path = "cross_entropy", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %c0: tensor<3x6xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "c0"},
                %c1: tensor<3x6xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "c1"},
                %c2: tensor<3x6xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "c2"},
                %c3: tensor<3x6xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "c3"},
                %c4: tensor<3x6x4xf32, #ptl.dims<[batch, embed, seq]>> {ptl.role = "data", ptl.path = "c4"},
                %c5: tensor<4x6xf32, #ptl.dims<[seq, embed]>> {ptl.role = "data", ptl.path = "c5"},
                %targets: tensor<4x3xi32, #ptl.dims<[seq, batch]>> {ptl.role = "data", ptl.path = "targets", ptl.limit = 5 : i64},
                %c6: tensor<4x3xf32, #ptl.dims<[seq, batch]>> {ptl.role = "data", ptl.path = "c6"},
                %step: tensor<i64> {ptl.role = "step"})
    -> (tensor<f32> {ptl.role = "loss"}) {
  %v0 = ptl.softmax %softmax over embed : tensor<3x6xf32, #ptl.dims<[batch, embed]>> -> tensor<3x6xf32, #ptl.dims<[batch, embed]>>
  %v1 = ptl.elementwise mul %v0, %c0 : (tensor<3x6xf32, #ptl.dims<[batch, embed]>>, tensor<3x6xf32, #ptl.dims<[batch, embed]>>) -> tensor<3x6xf32, #ptl.dims<[batch, embed]>>
  %v2 = ptl.reduce sum %v1 over [batch, embed] : tensor<3x6xf32, #ptl.dims<[batch, embed]>> -> tensor<f32>
  %v3 = ptl.log_softmax %log_softmax over embed : tensor<3x6xf32, #ptl.dims<[batch, embed]>> -> tensor<3x6xf32, #ptl.dims<[batch, embed]>>
  %v4 = ptl.elementwise mul %v3, %c1 : (tensor<3x6xf32, #ptl.dims<[batch, embed]>>, tensor<3x6xf32, #ptl.dims<[batch, embed]>>) -> tensor<3x6xf32, #ptl.dims<[batch, embed]>>
  %v5 = ptl.reduce sum %v4 over [batch, embed] : tensor<3x6xf32, #ptl.dims<[batch, embed]>> -> tensor<f32>
  %v6:3 = ptl.layer_norm %layer_norm over embed eps 1.0e-05 : (tensor<3x6xf32, #ptl.dims<[batch, embed]>>) -> (tensor<3x6xf32, #ptl.dims<[batch, embed]>>, tensor<3xf32, #ptl.dims<[batch]>>, tensor<3xf32, #ptl.dims<[batch]>>)
  %v7 = ptl.elementwise mul %v6#0, %c2 : (tensor<3x6xf32, #ptl.dims<[batch, embed]>>, tensor<3x6xf32, #ptl.dims<[batch, embed]>>) -> tensor<3x6xf32, #ptl.dims<[batch, embed]>>
  %v8 = ptl.reduce sum %v7 over [batch, embed] : tensor<3x6xf32, #ptl.dims<[batch, embed]>> -> tensor<f32>
  %v9:2 = ptl.rms_norm %rms_norm over embed eps 1.0e-05 : (tensor<3x6xf32, #ptl.dims<[batch, embed]>>) -> (tensor<3x6xf32, #ptl.dims<[batch, embed]>>, tensor<3xf32, #ptl.dims<[batch]>>)
  %v10 = ptl.elementwise mul %v9#0, %c3 : (tensor<3x6xf32, #ptl.dims<[batch, embed]>>, tensor<3x6xf32, #ptl.dims<[batch, embed]>>) -> tensor<3x6xf32, #ptl.dims<[batch, embed]>>
  %v11 = ptl.reduce sum %v10 over [batch, embed] : tensor<3x6xf32, #ptl.dims<[batch, embed]>> -> tensor<f32>
  %v12 = ptl.rope %rope over embed along seq theta 100 : tensor<3x6x4xf32, #ptl.dims<[batch, embed, seq]>> -> tensor<3x6x4xf32, #ptl.dims<[batch, embed, seq]>>
  %v13 = ptl.elementwise mul %v12, %c4 : (tensor<3x6x4xf32, #ptl.dims<[batch, embed, seq]>>, tensor<3x6x4xf32, #ptl.dims<[batch, embed, seq]>>) -> tensor<3x6x4xf32, #ptl.dims<[batch, embed, seq]>>
  %v14 = ptl.reduce sum %v13 over [batch, embed, seq] : tensor<3x6x4xf32, #ptl.dims<[batch, embed, seq]>> -> tensor<f32>
  %v15 = ptl.rope %inverse_rope over embed along seq theta 100 inverse : tensor<4x6xf32, #ptl.dims<[seq, embed]>> -> tensor<4x6xf32, #ptl.dims<[seq, embed]>>
  %v16 = ptl.elementwise mul %v15, %c5 : (tensor<4x6xf32, #ptl.dims<[seq, embed]>>, tensor<4x6xf32, #ptl.dims<[seq, embed]>>) -> tensor<4x6xf32, #ptl.dims<[seq, embed]>>
  %v17 = ptl.reduce sum %v16 over [seq, embed] : tensor<4x6xf32, #ptl.dims<[seq, embed]>> -> tensor<f32>
  %v18:2 = ptl.cross_entropy %cross_entropy, %targets over vocab ignore 2 : (tensor<3x4x5xf32, #ptl.dims<[batch, seq, vocab]>>, tensor<4x3xi32, #ptl.dims<[seq, batch]>>) -> (tensor<4x3xf32, #ptl.dims<[seq, batch]>>, tensor<4x3xf32, #ptl.dims<[seq, batch]>>)
  %v19 = ptl.elementwise mul %v18#0, %c6 : (tensor<4x3xf32, #ptl.dims<[seq, batch]>>, tensor<4x3xf32, #ptl.dims<[seq, batch]>>) -> tensor<4x3xf32, #ptl.dims<[seq, batch]>>
  %v20 = ptl.reduce sum %v19 over [seq, batch] : tensor<4x3xf32, #ptl.dims<[seq, batch]>> -> tensor<f32>
  %v21 = ptl.elementwise add %v2, %v5 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v22 = ptl.elementwise add %v21, %v8 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v23 = ptl.elementwise add %v22, %v11 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v24 = ptl.elementwise add %v23, %v14 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v25 = ptl.elementwise add %v24, %v17 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v26 = ptl.elementwise add %v25, %v20 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %v26 : tensor<f32>
}
}
