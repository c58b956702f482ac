// RUN: ptl-opt %s --grad-build-step -o %t
// RUN: ptl-run --check-gradients %s %t | FileCheck %s

// Self-attention with shared key heads, one value thrice, and cross attention with a mask.
// CHECK: right: gradients of 7 weights

module attributes {
  ptl.train = {batch = 2, optimizers = [{kind = "sgd", weights = ["self_q", "self_k", "self_v", "shared", "cross_q", "cross_k", "cross_v"], lr = 0.1 : f64, momentum = 0.0 : f64, dampening = 0.0 : f64, weight_decay = 0.0 : f64}]},
  ptl.plan = {microbatches = 1 : i64}} {
func.func @loss(%self_q: tensor<2x5x4x3xf32, #ptl.dims<[batch, seq, heads, hdim]>> {ptl.role = "weight", ptl.path = "self_q", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %self_k: tensor<2x5x2x3xf32, #ptl.dims<[batch, seq, kv, hdim]>> {ptl.role = "weight", ptl.path = "self_k", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %self_v: tensor<2x5x2x2xf32, #ptl.dims<[batch, seq, kv, vdim]>> {ptl.role = "weight", ptl.path = "self_v", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %shared: tensor<2x5x4x3xf32, #ptl.dims<[batch, seq, heads, hdim]>> {ptl.role = "weight", ptl.path = "shared", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %cross_q: tensor<2x3x4x3xf32, #ptl.dims<[batch, tgt, heads, hdim]>> {ptl.role = "weight", ptl.path = "cross_q", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %cross_k: tensor<2x5x3xf32, #ptl.dims<[batch, seq, hdim]>> {ptl.role = "weight", ptl.path = "cross_k", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %cross_v: tensor<5x2xf32, #ptl.dims<[seq, vdim]>> {ptl.role = "weight", ptl.path = "cross_v", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %c0: tensor<2x5x4x2xf32, #ptl.dims<[batch, seq, heads, vdim]>> {ptl.role = "data", ptl.path = "c0"},
                %c1: tensor<2x5x4x3xf32, #ptl.dims<[batch, seq, heads, hdim]>> {ptl.role = "data", ptl.path = "c1"},
                %mask: tensor<2x5xi32, #ptl.dims<[batch, seq]>> {ptl.role = "data", ptl.path = "mask", ptl.limit = 2 : i64},
                %c2: tensor<2x3x4x2xf32, #ptl.dims<[batch, tgt, heads, vdim]>> {ptl.role = "data", ptl.path = "c2"},
                %step: tensor<i64> {ptl.role = "step"})
    -> (tensor<f32> {ptl.role = "loss"}) {
  %v0:2 = ptl.attention %self_q, %self_k, %self_v over seq depth hdim -> vdim scale 0.5 group [heads] -> [kv] causal window 3 : (tensor<2x5x4x3xf32, #ptl.dims<[batch, seq, heads, hdim]>>, tensor<2x5x2x3xf32, #ptl.dims<[batch, seq, kv, hdim]>>, tensor<2x5x2x2xf32, #ptl.dims<[batch, seq, kv, vdim]>>) -> (tensor<2x5x4x2xf32, #ptl.dims<[batch, seq, heads, vdim]>>, tensor<2x5x4xf32, #ptl.dims<[batch, seq, heads]>>)
  %v1 = ptl.elementwise mul %v0#0, %c0 : (tensor<2x5x4x2xf32, #ptl.dims<[batch, seq, heads, vdim]>>, tensor<2x5x4x2xf32, #ptl.dims<[batch, seq, heads, vdim]>>) -> tensor<2x5x4x2xf32, #ptl.dims<[batch, seq, heads, vdim]>>
  %v2 = ptl.reduce sum %v1 over [batch, seq, heads, vdim] : tensor<2x5x4x2xf32, #ptl.dims<[batch, seq, heads, vdim]>> -> tensor<f32>
  %v3:2 = ptl.attention %shared, %shared, %shared over seq depth hdim -> hdim scale 1 : (tensor<2x5x4x3xf32, #ptl.dims<[batch, seq, heads, hdim]>>, tensor<2x5x4x3xf32, #ptl.dims<[batch, seq, heads, hdim]>>, tensor<2x5x4x3xf32, #ptl.dims<[batch, seq, heads, hdim]>>) -> (tensor<2x5x4x3xf32, #ptl.dims<[batch, seq, heads, hdim]>>, tensor<2x5x4xf32, #ptl.dims<[batch, seq, heads]>>)
  %v4 = ptl.elementwise mul %v3#0, %c1 : (tensor<2x5x4x3xf32, #ptl.dims<[batch, seq, heads, hdim]>>, tensor<2x5x4x3xf32, #ptl.dims<[batch, seq, heads, hdim]>>) -> tensor<2x5x4x3xf32, #ptl.dims<[batch, seq, heads, hdim]>>
  %v5 = ptl.reduce sum %v4 over [batch, seq, heads, hdim] : tensor<2x5x4x3xf32, #ptl.dims<[batch, seq, heads, hdim]>> -> tensor<f32>
  %v6 = ptl.constant 0 : tensor<2x5xi32, #ptl.dims<[batch, seq]>>
  %v7 = ptl.elementwise gt %mask, %v6 : (tensor<2x5xi32, #ptl.dims<[batch, seq]>>, tensor<2x5xi32, #ptl.dims<[batch, seq]>>) -> tensor<2x5xi1, #ptl.dims<[batch, seq]>>
  %v8:2 = ptl.attention %cross_q, %cross_k, %cross_v mask %v7 over seq depth hdim -> vdim scale 0.7 : (tensor<2x3x4x3xf32, #ptl.dims<[batch, tgt, heads, hdim]>>, tensor<2x5x3xf32, #ptl.dims<[batch, seq, hdim]>>, tensor<5x2xf32, #ptl.dims<[seq, vdim]>>, tensor<2x5xi1, #ptl.dims<[batch, seq]>>) -> (tensor<2x3x4x2xf32, #ptl.dims<[batch, tgt, heads, vdim]>>, tensor<2x3x4xf32, #ptl.dims<[batch, tgt, heads]>>)
  %v9 = ptl.elementwise mul %v8#0, %c2 : (tensor<2x3x4x2xf32, #ptl.dims<[batch, tgt, heads, vdim]>>, tensor<2x3x4x2xf32, #ptl.dims<[batch, tgt, heads, vdim]>>) -> tensor<2x3x4x2xf32, #ptl.dims<[batch, tgt, heads, vdim]>>
  %v10 = ptl.reduce sum %v9 over [batch, tgt, heads, vdim] : tensor<2x3x4x2xf32, #ptl.dims<[batch, tgt, heads, vdim]>> -> tensor<f32>
  %v11 = ptl.elementwise add %v2, %v5 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v12 = ptl.elementwise add %v11, %v10 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %v12 : tensor<f32>
}
}
