// RUN: ptl-opt %s --grad-build-step -o %t
// RUN: ptl-run --check-gradients %s %t | FileCheck %s

// Every element-wise function; each has weights of its own, which a failure names.
// CHECK: right: gradients of 33 weights

module attributes {
  ptl.train = {batch = 3, optimizers = [{kind = "sgd", weights = ["neg", "exp", "sin", "cos", "tanh", "sigmoid", "abs", "relu", "gelu", "silu", "log", "sqrt", "rsqrt", "recip", "add_a", "add_b", "sub_a", "sub_b", "mul_a", "mul_b", "div_a", "div_b", "pow_a", "pow_b", "max_a", "max_b", "min_a", "min_b", "mod_a", "mod_b", "select_a", "select_b", "reused"], lr = 0.1 : f64, momentum = 0.0 : f64, dampening = 0.0 : f64, weight_decay = 0.0 : f64}]},
  ptl.plan = {microbatches = 1 : i64}} {
func.func @loss(%neg: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "neg", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %exp: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "exp", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %sin: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "sin", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %cos: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "cos", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %tanh: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "tanh", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %sigmoid: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "sigmoid", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %abs: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "abs", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %relu: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "relu", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %gelu: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "gelu", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %silu: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "silu", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %log: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "log", ptl.init = {kind = "uniform", a = 0.5 : f64, b = 1.5 : f64}},
                %sqrt: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "sqrt", ptl.init = {kind = "uniform", a = 0.5 : f64, b = 1.5 : f64}},
                %rsqrt: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "rsqrt", ptl.init = {kind = "uniform", a = 0.5 : f64, b = 1.5 : f64}},
                %recip: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "recip", ptl.init = {kind = "uniform", a = 0.5 : f64, b = 1.5 : f64}},
                %add_a: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "add_a", ptl.init = {kind = "uniform", a = 0.5 : f64, b = 1.5 : f64}},
                %add_b: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "add_b", ptl.init = {kind = "uniform", a = 0.5 : f64, b = 1.5 : f64}},
                %sub_a: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "sub_a", ptl.init = {kind = "uniform", a = 0.5 : f64, b = 1.5 : f64}},
                %sub_b: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "sub_b", ptl.init = {kind = "uniform", a = 0.5 : f64, b = 1.5 : f64}},
                %mul_a: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "mul_a", ptl.init = {kind = "uniform", a = 0.5 : f64, b = 1.5 : f64}},
                %mul_b: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "mul_b", ptl.init = {kind = "uniform", a = 0.5 : f64, b = 1.5 : f64}},
                %div_a: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "div_a", ptl.init = {kind = "uniform", a = 0.5 : f64, b = 1.5 : f64}},
                %div_b: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "div_b", ptl.init = {kind = "uniform", a = 0.5 : f64, b = 1.5 : f64}},
                %pow_a: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "pow_a", ptl.init = {kind = "uniform", a = 0.5 : f64, b = 1.5 : f64}},
                %pow_b: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "pow_b", ptl.init = {kind = "uniform", a = 0.5 : f64, b = 1.5 : f64}},
                %max_a: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "max_a", ptl.init = {kind = "uniform", a = 0.5 : f64, b = 1.5 : f64}},
                %max_b: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "max_b", ptl.init = {kind = "uniform", a = 0.5 : f64, b = 1.5 : f64}},
                %min_a: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "min_a", ptl.init = {kind = "uniform", a = 0.5 : f64, b = 1.5 : f64}},
                %min_b: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "min_b", ptl.init = {kind = "uniform", a = 0.5 : f64, b = 1.5 : f64}},
                %mod_a: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "mod_a", ptl.init = {kind = "uniform", a = 0.5 : f64, b = 1.5 : f64}},
                %mod_b: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "mod_b", ptl.init = {kind = "uniform", a = 0.5 : f64, b = 1.5 : f64}},
                %select_a: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "select_a", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %select_b: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "select_b", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %reused: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "reused", ptl.init = {kind = "normal", a = 1.0 : f64, b = 0.0 : f64}},
                %c0: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "data", ptl.path = "c0"},
                %c1: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "data", ptl.path = "c1"},
                %c2: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "data", ptl.path = "c2"},
                %c3: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "data", ptl.path = "c3"},
                %c4: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "data", ptl.path = "c4"},
                %c5: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "data", ptl.path = "c5"},
                %c6: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "data", ptl.path = "c6"},
                %c7: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "data", ptl.path = "c7"},
                %c8: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "data", ptl.path = "c8"},
                %c9: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "data", ptl.path = "c9"},
                %c10: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "data", ptl.path = "c10"},
                %c11: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "data", ptl.path = "c11"},
                %c12: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "data", ptl.path = "c12"},
                %c13: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "data", ptl.path = "c13"},
                %c14: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "data", ptl.path = "c14"},
                %c15: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "data", ptl.path = "c15"},
                %c16: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "data", ptl.path = "c16"},
                %c17: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "data", ptl.path = "c17"},
                %c18: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "data", ptl.path = "c18"},
                %c19: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "data", ptl.path = "c19"},
                %c20: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "data", ptl.path = "c20"},
                %c21: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "data", ptl.path = "c21"},
                %x: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "data", ptl.path = "x"},
                %c22: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "data", ptl.path = "c22"},
                %c23: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "data", ptl.path = "c23"},
                %step: tensor<i64> {ptl.role = "step"})
    -> (tensor<f32> {ptl.role = "loss"}) {
  %v0 = ptl.elementwise neg %neg : (tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v1 = ptl.elementwise mul %v0, %c0 : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v2 = ptl.reduce sum %v1 over [embed] : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v3 = ptl.elementwise exp %exp : (tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v4 = ptl.elementwise mul %v3, %c1 : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v5 = ptl.reduce sum %v4 over [embed] : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v6 = ptl.elementwise sin %sin : (tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v7 = ptl.elementwise mul %v6, %c2 : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v8 = ptl.reduce sum %v7 over [embed] : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v9 = ptl.elementwise cos %cos : (tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v10 = ptl.elementwise mul %v9, %c3 : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v11 = ptl.reduce sum %v10 over [embed] : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v12 = ptl.elementwise tanh %tanh : (tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v13 = ptl.elementwise mul %v12, %c4 : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v14 = ptl.reduce sum %v13 over [embed] : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v15 = ptl.elementwise sigmoid %sigmoid : (tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v16 = ptl.elementwise mul %v15, %c5 : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v17 = ptl.reduce sum %v16 over [embed] : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v18 = ptl.elementwise abs %abs : (tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v19 = ptl.elementwise mul %v18, %c6 : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v20 = ptl.reduce sum %v19 over [embed] : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v21 = ptl.elementwise relu %relu : (tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v22 = ptl.elementwise mul %v21, %c7 : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v23 = ptl.reduce sum %v22 over [embed] : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v24 = ptl.elementwise gelu %gelu : (tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v25 = ptl.elementwise mul %v24, %c8 : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v26 = ptl.reduce sum %v25 over [embed] : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v27 = ptl.elementwise silu %silu : (tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v28 = ptl.elementwise mul %v27, %c9 : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v29 = ptl.reduce sum %v28 over [embed] : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v30 = ptl.elementwise log %log : (tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v31 = ptl.elementwise mul %v30, %c10 : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v32 = ptl.reduce sum %v31 over [embed] : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v33 = ptl.elementwise sqrt %sqrt : (tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v34 = ptl.elementwise mul %v33, %c11 : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v35 = ptl.reduce sum %v34 over [embed] : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v36 = ptl.elementwise rsqrt %rsqrt : (tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v37 = ptl.elementwise mul %v36, %c12 : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v38 = ptl.reduce sum %v37 over [embed] : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v39 = ptl.elementwise recip %recip : (tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v40 = ptl.elementwise mul %v39, %c13 : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v41 = ptl.reduce sum %v40 over [embed] : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v42 = ptl.elementwise add %add_a, %add_b : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v43 = ptl.elementwise mul %v42, %c14 : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v44 = ptl.reduce sum %v43 over [embed] : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v45 = ptl.elementwise sub %sub_a, %sub_b : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v46 = ptl.elementwise mul %v45, %c15 : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v47 = ptl.reduce sum %v46 over [embed] : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v48 = ptl.elementwise mul %mul_a, %mul_b : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v49 = ptl.elementwise mul %v48, %c16 : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v50 = ptl.reduce sum %v49 over [embed] : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v51 = ptl.elementwise div %div_a, %div_b : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v52 = ptl.elementwise mul %v51, %c17 : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v53 = ptl.reduce sum %v52 over [embed] : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v54 = ptl.elementwise pow %pow_a, %pow_b : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v55 = ptl.elementwise mul %v54, %c18 : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v56 = ptl.reduce sum %v55 over [embed] : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v57 = ptl.elementwise max %max_a, %max_b : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v58 = ptl.elementwise mul %v57, %c19 : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v59 = ptl.reduce sum %v58 over [embed] : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v60 = ptl.elementwise min %min_a, %min_b : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v61 = ptl.elementwise mul %v60, %c20 : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v62 = ptl.reduce sum %v61 over [embed] : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v63 = ptl.elementwise mod %mod_a, %mod_b : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v64 = ptl.elementwise mul %v63, %c21 : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v65 = ptl.reduce sum %v64 over [embed] : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v66 = ptl.constant 0.5 : tensor<4xf32, #ptl.dims<[embed]>>
  %v67 = ptl.elementwise lt %x, %v66 : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xi1, #ptl.dims<[embed]>>
  %v68 = ptl.elementwise select %v67, %select_a, %select_b : (tensor<4xi1, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v69 = ptl.elementwise mul %v68, %c22 : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v70 = ptl.reduce sum %v69 over [embed] : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v73 = ptl.elementwise mul %reused, %reused : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v74 = ptl.elementwise exp %reused : (tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v75 = ptl.elementwise mul %v73, %v74 : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v76 = ptl.elementwise mul %v75, %c23 : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %v77 = ptl.reduce sum %v76 over [embed] : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<f32>
  %v78 = ptl.elementwise add %v2, %v5 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v79 = ptl.elementwise add %v78, %v8 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v80 = ptl.elementwise add %v79, %v11 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v81 = ptl.elementwise add %v80, %v14 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v82 = ptl.elementwise add %v81, %v17 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v83 = ptl.elementwise add %v82, %v20 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v84 = ptl.elementwise add %v83, %v23 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v85 = ptl.elementwise add %v84, %v26 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v86 = ptl.elementwise add %v85, %v29 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v87 = ptl.elementwise add %v86, %v32 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v88 = ptl.elementwise add %v87, %v35 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v89 = ptl.elementwise add %v88, %v38 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v90 = ptl.elementwise add %v89, %v41 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v91 = ptl.elementwise add %v90, %v44 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v92 = ptl.elementwise add %v91, %v47 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v93 = ptl.elementwise add %v92, %v50 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v94 = ptl.elementwise add %v93, %v53 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v95 = ptl.elementwise add %v94, %v56 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v96 = ptl.elementwise add %v95, %v59 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v97 = ptl.elementwise add %v96, %v62 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v98 = ptl.elementwise add %v97, %v65 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v99 = ptl.elementwise add %v98, %v70 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %v100 = ptl.elementwise add %v99, %v77 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %v100 : tensor<f32>
}
}
