// RUN: ptl-opt %s --grad-build-step -o %t
// RUN: ptl-run --check-gradients %s %t | FileCheck %s

// Operations that move elements.
// CHECK: right: gradients of 11 weights

module attributes {
  ptl.train = {batch = 3, optimizers = [{kind = "sgd", weights = ["broadcast", "reshape", "merge", "concat_a", "concat_b", "slice", "pad", "gather", "gather_aligned", "scatter", "scatter_init"], lr = 0.1 : f64, momentum = 0.0 : f64, dampening = 0.0 : f64, weight_decay = 0.0 : f64}]},
  ptl.plan = {microbatches = 1 : i64}} {
func.func @loss(%broadcast: tensor<4x6xf32, #ptl.dims<[seq, embed]>> {ptl.role = "weight", ptl.path = "broadcast", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %reshape: tensor<4x6xf32, #ptl.dims<[seq, embed]>> {ptl.role = "weight", ptl.path = "reshape", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %merge: tensor<4x3x2xf32, #ptl.dims<[seq, hdim, heads]>> {ptl.role = "weight", ptl.path = "merge", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %concat_a: tensor<4x6xf32, #ptl.dims<[seq, embed]>> {ptl.role = "weight", ptl.path = "concat_a", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %concat_b: tensor<4x4xf32, #ptl.dims<[seq, key]>> {ptl.role = "weight", ptl.path = "concat_b", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %slice: tensor<4x6xf32, #ptl.dims<[seq, embed]>> {ptl.role = "weight", ptl.path = "slice", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %pad: tensor<4x6xf32, #ptl.dims<[seq, embed]>> {ptl.role = "weight", ptl.path = "pad", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %gather: tensor<5x6xf32, #ptl.dims<[vocab, embed]>> {ptl.role = "weight", ptl.path = "gather", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %gather_aligned: tensor<3x5xf32, #ptl.dims<[batch, vocab]>> {ptl.role = "weight", ptl.path = "gather_aligned", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %scatter: tensor<3x4x6xf32, #ptl.dims<[batch, seq, embed]>> {ptl.role = "weight", ptl.path = "scatter", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %scatter_init: tensor<5x6xf32, #ptl.dims<[vocab, embed]>> {ptl.role = "weight", ptl.path = "scatter_init", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %c0: tensor<6x3x4xf32, #ptl.dims<[embed, batch, seq]>> {ptl.role = "data", ptl.path = "c0"},
                %c1: tensor<4x6xf32, #ptl.dims<[key, embed]>> {ptl.role = "data", ptl.path = "c1"},
                %c2: tensor<4x6xf32, #ptl.dims<[seq, embed]>> {ptl.role = "data", ptl.path = "c2"},
                %c3: tensor<4x10xf32, #ptl.dims<[seq, both]>> {ptl.role = "data", ptl.path = "c3"},
                %c4: tensor<4x2xf32, #ptl.dims<[seq, part]>> {ptl.role = "data", ptl.path = "c4"},
                %c5: tensor<4x9xf32, #ptl.dims<[seq, longer]>> {ptl.role = "data", ptl.path = "c5"},
                %ids: tensor<3x4xi32, #ptl.dims<[batch, seq]>> {ptl.role = "data", ptl.path = "ids", ptl.limit = 5 : i64},
                %c6: tensor<3x4x6xf32, #ptl.dims<[batch, seq, embed]>> {ptl.role = "data", ptl.path = "c6"},
                %ids2: tensor<3xi32, #ptl.dims<[batch]>> {ptl.role = "data", ptl.path = "ids2", ptl.limit = 5 : i64},
                %c7: tensor<3xf32, #ptl.dims<[batch]>> {ptl.role = "data", ptl.path = "c7"},
                %c8: tensor<5x6xf32, #ptl.dims<[vocab, embed]>> {ptl.role = "data", ptl.path = "c8"},
                %step: tensor<i64> {ptl.role = "step"})
    -> (tensor<f32> {ptl.role = "loss"}) {
  %v0 = ptl.broadcast %broadcast : tensor<4x6xf32, #ptl.dims<[seq, embed]>> -> tensor<6x3x4xf32, #ptl.dims<[embed, batch, seq]>>
  %v1 = ptl.elementwise mul %v0, %c0 : (tensor<6x3x4xf32, #ptl.dims<[embed, batch, seq]>>, tensor<6x3x4xf32, #ptl.dims<[embed, batch, seq]>>) -> tensor<6x3x4xf32, #ptl.dims<[embed, batch, seq]>>
  %v2 = ptl.reduce sum %v1 over [embed, batch, seq] : tensor<6x3x4xf32, #ptl.dims<[embed, batch, seq]>> -> tensor<f32>
  %v3 = ptl.reshape %reshape [[embed] -> [heads, hdim], [seq] -> [key]] : tensor<4x6xf32, #ptl.dims<[seq, embed]>> -> tensor<4x2x3xf32, #ptl.dims<[key, heads, hdim]>>
  %v4 = ptl.elementwise exp %v3 : (tensor<4x2x3xf32, #ptl.dims<[key, heads, hdim]>>) -> tensor<4x2x3xf32, #ptl.dims<[key, heads, hdim]>>
  %v5 = ptl.reshape %v4 [[heads, hdim] -> [embed]] : tensor<4x2x3xf32, #ptl.dims<[key, heads, hdim]>> -> tensor<4x6xf32, #ptl.dims<[key, embed]>>
  %v6 = ptl.elementwise mul %v5, %c1 : (tensor<4x6xf32, #ptl.dims<[key, embed]>>, tensor<4x6xf32, #ptl.dims<[key, embed]>>) -> tensor<4x6xf32, #ptl.dims<[key, embed]>>
  %v7 = ptl.reduce sum %v6 over [key, embed] : tensor<4x6xf32, #ptl.dims<[key, embed]>> -> tensor<f32>
  %v8 = ptl.reshape %merge [[heads, hdim] -> [embed]] : tensor<4x3x2xf32, #ptl.dims<[seq, hdim, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, embed]>>
  %v9 = ptl.elementwise mul %v8, %c2 : (tensor<4x6xf32, #ptl.dims<[seq, embed]>>, tensor<4x6xf32, #ptl.dims<[seq, embed]>>) -> tensor<4x6xf32, #ptl.dims<[seq, embed]>>
  %v10 = ptl.reduce sum %v9 over [seq, embed] : tensor<4x6xf32, #ptl.dims<[seq, embed]>> -> tensor<f32>
  %v11 = ptl.concat %concat_a, %concat_b [embed, key] -> both : (tensor<4x6xf32, #ptl.dims<[seq, embed]>>, tensor<4x4xf32, #ptl.dims<[seq, key]>>) -> tensor<4x10xf32, #ptl.dims<[seq, both]>>
  %v12 = ptl.elementwise mul %v11, %c3 : (tensor<4x10xf32, #ptl.dims<[seq, both]>>, tensor<4x10xf32, #ptl.dims<[seq, both]>>) -> tensor<4x10xf32, #ptl.dims<[seq, both]>>
  %v13 = ptl.reduce sum %v12 over [seq, both] : tensor<4x10xf32, #ptl.dims<[seq, both]>> -> tensor<f32>
  %v14 = ptl.slice %slice embed -> part from 3 : tensor<4x6xf32, #ptl.dims<[seq, embed]>> -> tensor<4x2xf32, #ptl.dims<[seq, part]>>
  %v15 = ptl.elementwise mul %v14, %c4 : (tensor<4x2xf32, #ptl.dims<[seq, part]>>, tensor<4x2xf32, #ptl.dims<[seq, part]>>) -> tensor<4x2xf32, #ptl.dims<[seq, part]>>
  %v16 = ptl.reduce sum %v15 over [seq, part] : tensor<4x2xf32, #ptl.dims<[seq, part]>> -> tensor<f32>
  %v17 = ptl.pad %pad embed -> longer before 1 value 2 : tensor<4x6xf32, #ptl.dims<[seq, embed]>> -> tensor<4x9xf32, #ptl.dims<[seq, longer]>>
  %v18 = ptl.elementwise mul %v17, %c5 : (tensor<4x9xf32, #ptl.dims<[seq, longer]>>, tensor<4x9xf32, #ptl.dims<[seq, longer]>>) -> tensor<4x9xf32, #ptl.dims<[seq, longer]>>
  %v19 = ptl.reduce sum %v18 over [seq, longer] : tensor<4x9xf32, #ptl.dims<[seq, longer]>> -> tensor<f32>
  %v20 = ptl.gather %gather[vocab : %ids] : (tensor<5x6xf32, #ptl.dims<[vocab, embed]>>, tensor<3x4xi32, #ptl.dims<[batch, seq]>>) -> tensor<3x4x6xf32, #ptl.dims<[batch, seq, embed]>>
  %v21 = ptl.elementwise mul %v20, %v20 : (tensor<3x4x6xf32, #ptl.dims<[batch, seq, embed]>>, tensor<3x4x6xf32, #ptl.dims<[batch, seq, embed]>>) -> tensor<3x4x6xf32, #ptl.dims<[batch, seq, embed]>>
  %v22 = ptl.elementwise mul %v21, %c6 : (tensor<3x4x6xf32, #ptl.dims<[batch, seq, embed]>>, tensor<3x4x6xf32, #ptl.dims<[batch, seq, embed]>>) -> tensor<3x4x6xf32, #ptl.dims<[batch, seq, embed]>>
  %v23 = ptl.reduce sum %v22 over [batch, seq, embed] : tensor<3x4x6xf32, #ptl.dims<[batch, seq, embed]>> -> tensor<f32>
  %v24 = ptl.gather %gather_aligned[vocab : %ids2] : (tensor<3x5xf32, #ptl.dims<[batch, vocab]>>, tensor<3xi32, #ptl.dims<[batch]>>) -> tensor<3xf32, #ptl.dims<[batch]>>
  %v25 = ptl.elementwise mul %v24, %c7 : (tensor<3xf32, #ptl.dims<[batch]>>, tensor<3xf32, #ptl.dims<[batch]>>) -> tensor<3xf32, #ptl.dims<[batch]>>
  %v26 = ptl.reduce sum %v25 over [batch] : tensor<3xf32, #ptl.dims<[batch]>> -> tensor<f32>
  %v27 = ptl.scatter_add %ids, %scatter over vocab into %scatter_init : (tensor<3x4xi32, #ptl.dims<[batch, seq]>>, tensor<3x4x6xf32, #ptl.dims<[batch, seq, embed]>>, tensor<5x6xf32, #ptl.dims<[vocab, embed]>>) -> tensor<5x6xf32, #ptl.dims<[vocab, embed]>>
  %v28 = ptl.elementwise mul %v27, %v27 : (tensor<5x6xf32, #ptl.dims<[vocab, embed]>>, tensor<5x6xf32, #ptl.dims<[vocab, embed]>>) -> tensor<5x6xf32, #ptl.dims<[vocab, embed]>>
  %v29 = ptl.elementwise mul %v28, %c8 : (tensor<5x6xf32, #ptl.dims<[vocab, embed]>>, tensor<5x6xf32, #ptl.dims<[vocab, embed]>>) -> tensor<5x6xf32, #ptl.dims<[vocab, embed]>>
  %v30 = ptl.reduce sum %v29 over [vocab, embed] : tensor<5x6xf32, #ptl.dims<[vocab, embed]>> -> tensor<f32>
  %v31 = ptl.elementwise add %v2, %v7 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v32 = ptl.elementwise add %v31, %v10 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v33 = ptl.elementwise add %v32, %v13 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v34 = ptl.elementwise add %v33, %v16 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v35 = ptl.elementwise add %v34, %v19 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v36 = ptl.elementwise add %v35, %v23 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v37 = ptl.elementwise add %v36, %v26 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v38 = ptl.elementwise add %v37, %v30 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %v38 : tensor<f32>
}
}
