// RUN: ptl-run --all --f64 %s | FileCheck %s
// Micro-batches, the norm, and optimizers with the numbers of PyTorch's formulas.

#x = #ptl.dims<[x]>
#b = #ptl.dims<[batch]>

// Pieces 1 2 3 | 4 5: the last is short, and its padding is masked. 6 + 9.
// CHECK-LABEL: @pieces
// CHECK-NEXT: value 0: 15
spmd.mesh @mesh [one = 1]
func.func @pieces(%x: tensor<5xf32, #b> {run.value = [1.0, 2.0, 3.0, 4.0, 5.0]}) -> tensor<f32> {
  %s = ptl.accumulate pieces 2 (%k) -> tensor<f32> {
    %p = ptl.microbatch %x[%k] of 2 along batch : tensor<5xf32, #b> -> tensor<3xf32, #b>
    %m = spmd.mask %p fill 0 cuts <[batch global 5 axes [] micro 2]> on @mesh : tensor<3xf32, #b> -> tensor<3xf32, #b>
    %r = ptl.reduce sum %m over [batch] : tensor<3xf32, #b> -> tensor<f32>
    ptl.yield %r : tensor<f32>
  }
  return %s : tensor<f32>
}

// Without the mask the padding is in the sum.
// CHECK-LABEL: @forgets_the_mask
// CHECK-NEXT: value 0: nan
func.func @forgets_the_mask(%x: tensor<5xf32, #b> {run.value = [1.0]}) -> tensor<f32> {
  %s = ptl.accumulate pieces 2 (%k) -> tensor<f32> {
    %p = ptl.microbatch %x[%k] of 2 along batch : tensor<5xf32, #b> -> tensor<3xf32, #b>
    %r = ptl.reduce sum %p over [batch] : tensor<3xf32, #b> -> tensor<f32>
    ptl.yield %r : tensor<f32>
  }
  return %s : tensor<f32>
}

// CHECK-LABEL: @norm
// CHECK-NEXT: value 0: 13
func.func @norm(%x: tensor<2xf32, #x> {run.value = [3.0, 4.0]}, %y: tensor<f32> {run.value = [12.0]}) -> tensor<f32> {
  %n = ptl.global_norm %x, %y : (tensor<2xf32, #x>, tensor<f32>) -> tensor<f32>
  return %n : tensor<f32>
}

// Step 0: the moments over their corrections are g and g g, so each weight moves by lr against the sign,
// after the decay 2 * (1 - 0.1 * 0.5). The clip factor 0.5 halves g: m = 0.1 * 1.5, v = 0.01 * 1.5^2.
// Second weight of the group: g = -1.
// CHECK-LABEL: @adamw
// CHECK-NEXT: value 0: 1.8
// CHECK-NEXT: value 1: 2
// CHECK-NEXT: value 2: 0.15
// CHECK-NEXT: value 3: -0.05
// CHECK-NEXT: value 4: 0.0225
// CHECK-NEXT: value 5: 0.0025
func.func @adamw(%w: tensor<f32> {run.value = [2.0]}, %g: tensor<f32> {run.value = [3.0]},
                 %h: tensor<f32> {run.value = [-1.0]}, %zero: tensor<f32> {run.value = [0.0]},
                 %lr: tensor<f32> {run.value = [0.1]}, %b1: tensor<f32> {run.value = [0.9]},
                 %b2: tensor<f32> {run.value = [0.99]}, %eps: tensor<f32> {run.value = [1.0e-12]},
                 %wd: tensor<f32> {run.value = [0.5]}, %c: tensor<f32> {run.value = [0.5]},
                 %step: tensor<i64> {run.value = [0]})
    -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %0:6 = ptl.optimize adamw weights(%w, %w : tensor<f32>, tensor<f32>) grads(%g, %h : tensor<f32>, tensor<f32>)
    states(%zero, %zero, %zero, %zero : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
    hypers(%lr, %b1, %b2, %eps, %wd, %c : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
    step %step : tensor<i64> names ["a", "b"] -> (tensor<f32>, tensor<f32>)
    states(tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
  return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5
    : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// torch.optim.SGD at step 3: g = 1 + 0.1 * 2; buffer = 0.5 * 4 + 0.75 * 1.2 = 2.9;
// plain: 2 - 0.5 * 2.9; Nesterov: 2 - 0.5 * (1.2 + 0.5 * 2.9). At step 0 the buffer is g. Without a buffer: 2 - 0.6.
// CHECK-LABEL: @sgd
// CHECK-NEXT: value 0: 0.55
// CHECK-NEXT: value 1: 2.9
// CHECK-NEXT: value 2: 0.675
// CHECK-NEXT: value 3: 1.2
// CHECK-NEXT: value 4: 1.4
func.func @sgd(%w: tensor<f32> {run.value = [2.0]}, %g: tensor<f32> {run.value = [1.0]},
               %m: tensor<f32> {run.value = [4.0]}, %lr: tensor<f32> {run.value = [0.5]},
               %momentum: tensor<f32> {run.value = [0.5]}, %dampening: tensor<f32> {run.value = [0.25]},
               %wd: tensor<f32> {run.value = [0.1]}, %c: tensor<f32> {run.value = [1.0]},
               %step: tensor<i64> {run.value = [3]}, %first: tensor<i64> {run.value = [0]})
    -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %0:2 = ptl.optimize sgd weights(%w : tensor<f32>) grads(%g : tensor<f32>) states(%m : tensor<f32>)
    hypers(%lr, %momentum, %dampening, %wd, %c : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
    step %step : tensor<i64> names ["w"] -> (tensor<f32>) states(tensor<f32>)
  %1:2 = ptl.optimize sgd weights(%w : tensor<f32>) grads(%g : tensor<f32>) states(%m : tensor<f32>)
    hypers(%lr, %momentum, %dampening, %wd, %c : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
    step %step : tensor<i64> names ["w"] nesterov -> (tensor<f32>) states(tensor<f32>)
  %2:2 = ptl.optimize sgd weights(%w : tensor<f32>) grads(%g : tensor<f32>) states(%m : tensor<f32>)
    hypers(%lr, %momentum, %dampening, %wd, %c : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
    step %first : tensor<i64> names ["w"] -> (tensor<f32>) states(tensor<f32>)
  %3 = ptl.optimize sgd weights(%w : tensor<f32>) grads(%g : tensor<f32>)
    hypers(%lr, %momentum, %dampening, %wd, %c : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
    step %step : tensor<i64> names ["w"] -> (tensor<f32>)
  return %0#0, %0#1, %1#0, %2#1, %3 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// Lion: sign(0.9 * -0.5 + 0.1 * 4) = -1: the weight grows; m = 0.99 * -0.5 + 0.01 * 4.
// CHECK-LABEL: @lion
// CHECK-NEXT: value 0: 2.008
// CHECK-NEXT: value 1: -0.455
func.func @lion(%w: tensor<f32> {run.value = [2.0]}, %g: tensor<f32> {run.value = [4.0]},
                %m: tensor<f32> {run.value = [-0.5]}, %lr: tensor<f32> {run.value = [0.01]},
                %b1: tensor<f32> {run.value = [0.9]}, %b2: tensor<f32> {run.value = [0.99]},
                %wd: tensor<f32> {run.value = [0.1]}, %c: tensor<f32> {run.value = [1.0]},
                %step: tensor<i64> {run.value = [0]}) -> (tensor<f32>, tensor<f32>) {
  %0:2 = ptl.optimize lion weights(%w : tensor<f32>) grads(%g : tensor<f32>) states(%m : tensor<f32>)
    hypers(%lr, %b1, %b2, %wd, %c : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
    step %step : tensor<i64> names ["w"] -> (tensor<f32>) states(tensor<f32>)
  return %0#0, %0#1 : tensor<f32>, tensor<f32>
}
