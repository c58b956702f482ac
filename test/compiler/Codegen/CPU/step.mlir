// RUN: ptl-native %s | FileCheck %s
// RUN: ptl-native %s --passes=fuse-expand-rows,cse,fuse-rows,fuse-outline-single,memory-plan-buffers | FileCheck %s
// CHECK: 5 of 5 results agree

// A step of two micro-batches: sums of gradients start with the first piece, the optimizer updates the bucket in place.
#fo = #ptl.dims<[features, out]>
#o = #ptl.dims<[out]>
#bf = #ptl.dims<[batch, features]>
#bo = #ptl.dims<[batch, out]>
#b = #ptl.dims<[batch]>

func.func @step(%w: tensor<20x6xf32, #fo> {ptl.role = "weight", ptl.path = "w"}, %c: tensor<6xf32, #o> {ptl.role = "weight", ptl.path = "c"},
                %mw: tensor<20x6xf32, #fo> {ptl.role = "state", ptl.path = "w#momentum"}, %mc: tensor<6xf32, #o> {ptl.role = "state", ptl.path = "c#momentum"},
                %x: tensor<8x20xf32, #bf> {ptl.role = "data", ptl.path = "x"}, %step: tensor<i64> {ptl.role = "step"},
                %lr: tensor<f32> {ptl.role = "hyper", ptl.path = "lr", run.value = [0.1]}, %mu: tensor<f32> {ptl.role = "hyper", ptl.path = "opt0.momentum", run.value = [0.9]},
                %damp: tensor<f32> {ptl.role = "hyper", ptl.path = "opt0.dampening", run.value = [0.2]}, %wd: tensor<f32> {ptl.role = "hyper", ptl.path = "opt0.weight_decay", run.value = [0.01]})
    -> (tensor<20x6xf32, #fo> {ptl.role = "weight", ptl.path = "w"}, tensor<6xf32, #o> {ptl.role = "weight", ptl.path = "c"},
        tensor<20x6xf32, #fo> {ptl.role = "state", ptl.path = "w#momentum"}, tensor<6xf32, #o> {ptl.role = "state", ptl.path = "c#momentum"}, tensor<f32> {ptl.role = "loss"}) {
  %loss, %gw, %gc = ptl.accumulate pieces 2 (%k) -> tensor<f32>, tensor<20x6xf32, #fo>, tensor<6xf32, #o> {
    %piece = ptl.microbatch %x[%k] of 2 along batch : tensor<8x20xf32, #bf> -> tensor<4x20xf32, #bf>
    %u = ptl.dot %piece, %w over [features] : (tensor<4x20xf32, #bf>, tensor<20x6xf32, #fo>) -> tensor<4x6xf32, #bo>
    %cb = ptl.broadcast %c : tensor<6xf32, #o> -> tensor<4x6xf32, #bo>
    %y = ptl.elementwise add %u, %cb : (tensor<4x6xf32, #bo>, tensor<4x6xf32, #bo>) -> tensor<4x6xf32, #bo>
    %sq = ptl.elementwise mul %y, %y : (tensor<4x6xf32, #bo>, tensor<4x6xf32, #bo>) -> tensor<4x6xf32, #bo>
    %l = ptl.reduce sum %sq over [batch, out] : tensor<4x6xf32, #bo> -> tensor<f32>
    %dw = ptl.dot %piece, %y over [batch] : (tensor<4x20xf32, #bf>, tensor<4x6xf32, #bo>) -> tensor<20x6xf32, #fo>
    %dc = ptl.reduce sum %y over [batch] : tensor<4x6xf32, #bo> -> tensor<6xf32, #o>
    ptl.yield %l, %dw, %dc : tensor<f32>, tensor<20x6xf32, #fo>, tensor<6xf32, #o>
  }
  %norm = ptl.global_norm %gw, %gc : (tensor<20x6xf32, #fo>, tensor<6xf32, #o>) -> tensor<f32>
  %scale = ptl.elementwise recip %norm : (tensor<f32>) -> tensor<f32>
  %new:4 = ptl.optimize sgd weights(%w, %c : tensor<20x6xf32, #fo>, tensor<6xf32, #o>) grads(%gw, %gc : tensor<20x6xf32, #fo>, tensor<6xf32, #o>) states(%mw, %mc : tensor<20x6xf32, #fo>, tensor<6xf32, #o>)
    hypers(%lr, %mu, %damp, %wd, %scale : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) step %step : tensor<i64> names ["w", "c"] nesterov
    -> (tensor<20x6xf32, #fo>, tensor<6xf32, #o>) states(tensor<20x6xf32, #fo>, tensor<6xf32, #o>)
  return %new#0, %new#1, %new#2, %new#3, %loss : tensor<20x6xf32, #fo>, tensor<6xf32, #o>, tensor<20x6xf32, #fo>, tensor<6xf32, #o>, tensor<f32>
}
