// RUN: %python %S/Inputs/make_data.py %t
// RUN: ptl-run %s --function step --weights %t/w.safetensors --data x=%t/x.npy --steps 3 --save-results %t/out.safetensors --save-grads %t/grads.safetensors | FileCheck %s
// RUN: ptl-run %s --function step --weights %t/w.safetensors --data x=%t/x.npy --steps 3 --wrap --hyper lr=1 | FileCheck %s --check-prefix=WRAP
// RUN: ptl-run %s --function batch --data tokens=%t/tokens.bin --steps 2 | FileCheck %s --check-prefix=TOKENS
// RUN: %python -c "import sys; print(open(sys.argv[1], 'rb').read()[8:])" %t/grads.safetensors | FileCheck %s --check-prefix=SAVED
// RUN: ptl-run %s --function step --weights %t/out.safetensors --data x=%t/x.npy | FileCheck %s --check-prefix=AGAIN

// The loss is w times the sum of x, its gradient that sum. Batches are 1 2 | 3 4 and again; 5 is left out.
// The rate warms up: 0.5, 1, then linearly to 0 at step 4: 1 at step 2. w = 10, 8.5, 1.5, -1.5.
// CHECK: step 0 loss 30 grad_norm 3 twice 6
// CHECK-NEXT: step 1 loss 59.5 grad_norm 7 twice 14
// CHECK-NEXT: step 2 loss 4.5 grad_norm 3 twice 6
// The end of the data and its beginning in one batch: 1 2 | 3 4 | 5 1, with rate 1.
// WRAP: step 0 loss 30 grad_norm 3 twice 6
// WRAP-NEXT: step 1 loss 49 grad_norm 7 twice 14
// WRAP-NEXT: step 2 loss 0 grad_norm 6 twice 12
// SAVED: {"w":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}
// AGAIN: loss: -4.5

#b = #ptl.dims<[batch]>
#bs = #ptl.dims<[batch, seq]>
module attributes {ptl.train = {batch = 2 : i64, seed = 1 : i64, data = {kind = "npy", tail = "drop"},
    optimizers = [{kind = "sgd", lr = 1.0, momentum = 0.0, dampening = 0.0, weight_decay = 0.0}],
    schedule = {kind = "warmup_linear", warmup = 2 : i64, total = 4 : i64, min_lr = 0.0}}} {
func.func @step(%w: tensor<f32> {ptl.role = "weight", ptl.path = "w"}, %x: tensor<2xf32, #b> {ptl.role = "data", ptl.path = "x"},
                %step: tensor<i64> {ptl.role = "step"}, %lr: tensor<f32> {ptl.role = "hyper", ptl.path = "lr"},
                %m: tensor<f32> {ptl.role = "hyper", ptl.path = "opt0.momentum"},
                %d: tensor<f32> {ptl.role = "hyper", ptl.path = "opt0.weight_decay"})
    -> (tensor<f32> {ptl.role = "weight", ptl.path = "w"}, tensor<f32> {ptl.role = "loss"},
        tensor<f32> {ptl.role = "grad_norm"}, tensor<f32> {ptl.role = "metric", ptl.path = "twice"}) {
  %g = ptl.reduce sum %x over [batch] {ptl.grad = "w"} : tensor<2xf32, #b> -> tensor<f32>
  %loss = ptl.elementwise mul %w, %g : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %n = ptl.global_norm %g : (tensor<f32>) -> tensor<f32>
  %c = ptl.constant 1.0 : tensor<f32>
  %new = ptl.optimize sgd weights(%w : tensor<f32>) grads(%g : tensor<f32>)
    hypers(%lr, %m, %m, %d, %c : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
    step %step : tensor<i64> names ["w"] -> (tensor<f32>)
  %two = ptl.elementwise add %g, %g : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %new, %loss, %n, %two : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// Sample j is tokens [2j, 2j + 2), its targets are one later; 7 tokens hold 3 samples, batches of one.
// TOKENS: step 0 first 7 last 9
// TOKENS-NEXT: step 1 first 9 last 11
func.func @batch(%t: tensor<1x2xi32, #bs> {ptl.role = "data", ptl.path = "tokens"},
                 %u: tensor<1x2xi32, #bs> {ptl.role = "data", ptl.path = "targets"})
    -> (tensor<i32> {ptl.role = "metric", ptl.path = "first"}, tensor<i32> {ptl.role = "metric", ptl.path = "last"}) {
  %0 = ptl.elementwise cast %t : (tensor<1x2xi32, #bs>) -> tensor<1x2xf32, #bs>
  %1 = ptl.reduce min %0 over [batch, seq] : tensor<1x2xf32, #bs> -> tensor<f32>
  %2 = ptl.elementwise cast %1 : (tensor<f32>) -> tensor<i32>
  %3 = ptl.elementwise cast %u : (tensor<1x2xi32, #bs>) -> tensor<1x2xf32, #bs>
  %4 = ptl.reduce max %3 over [batch, seq] : tensor<1x2xf32, #bs> -> tensor<f32>
  %5 = ptl.elementwise cast %4 : (tensor<f32>) -> tensor<i32>
  return %2, %5 : tensor<i32>, tensor<i32>
}
}
