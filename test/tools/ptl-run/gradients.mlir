// RUN: split-file %s %t
// RUN: ptl-run --check-gradients %t/loss.mlir %t/right.mlir | FileCheck %s --check-prefix=RIGHT
// RUN: not ptl-run --check-gradients %t/loss.mlir %t/wrong.mlir | FileCheck %s --check-prefix=WRONG
// RUN: not ptl-run --check-gradients %t/loss.mlir %t/missing.mlir 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: ptl-run --check-gradients %t/kink-loss.mlir %t/kink.mlir | FileCheck %s --check-prefix=KINK

// The loss is the sum of w^3 / 3, its gradient w^2.
// RIGHT: right: gradients of 1 weights, 20 directions checked, 0 skipped (not smooth), 0 weights failed
// WRONG: w: slope {{.*}}, by the gradient {{.*}}, relative error
// WRONG: WRONG: gradients of 1 weights
// MISSING: error: no value is marked as the gradient of 'w'
// |w - c| where w is c: a loss without a slope there is not held against any gradient.
// KINK: right: gradients of 2 weights, 20 directions checked, 80 skipped

//--- loss.mlir
#x = #ptl.dims<[x]>
func.func @loss(%w: tensor<3xf32, #x> {ptl.role = "weight", ptl.path = "w"}) -> (tensor<f32> {ptl.role = "loss"}) {
  %0 = ptl.elementwise mul %w, %w : (tensor<3xf32, #x>, tensor<3xf32, #x>) -> tensor<3xf32, #x>
  %1 = ptl.dot %0, %w over [x] : (tensor<3xf32, #x>, tensor<3xf32, #x>) -> tensor<f32>
  %2 = ptl.constant 3.0 : tensor<f32>
  %3 = ptl.elementwise div %1, %2 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>
}
//--- right.mlir
#x = #ptl.dims<[x]>
func.func @step(%w: tensor<3xf32, #x> {ptl.role = "weight", ptl.path = "w"}) -> (tensor<f32> {ptl.role = "grad_norm"}) {
  %0 = ptl.elementwise mul %w, %w {ptl.grad = "w"} : (tensor<3xf32, #x>, tensor<3xf32, #x>) -> tensor<3xf32, #x>
  %1 = ptl.global_norm %0 : (tensor<3xf32, #x>) -> tensor<f32>
  return %1 : tensor<f32>
}
//--- wrong.mlir
#x = #ptl.dims<[x]>
func.func @step(%w: tensor<3xf32, #x> {ptl.role = "weight", ptl.path = "w"}) -> (tensor<f32> {ptl.role = "grad_norm"}) {
  %c = ptl.constant 0.99999 : tensor<3xf32, #x>
  %0 = ptl.elementwise mul %w, %w : (tensor<3xf32, #x>, tensor<3xf32, #x>) -> tensor<3xf32, #x>
  %1 = ptl.elementwise mul %0, %c {ptl.grad = "w"} : (tensor<3xf32, #x>, tensor<3xf32, #x>) -> tensor<3xf32, #x>
  %2 = ptl.global_norm %1 : (tensor<3xf32, #x>) -> tensor<f32>
  return %2 : tensor<f32>
}
//--- missing.mlir
#x = #ptl.dims<[x]>
func.func @step(%w: tensor<3xf32, #x> {ptl.role = "weight", ptl.path = "w"}) -> (tensor<f32> {ptl.role = "grad_norm"}) {
  %1 = ptl.global_norm %w : (tensor<3xf32, #x>) -> tensor<f32>
  return %1 : tensor<f32>
}
//--- kink-loss.mlir
func.func @loss(%w: tensor<f32> {ptl.role = "weight", ptl.path = "w", run.value = [0.5]},
                %v: tensor<f32> {ptl.role = "weight", ptl.path = "v", run.value = [2.0]}) -> (tensor<f32> {ptl.role = "loss"}) {
  %c = ptl.constant 0.5 : tensor<f32>
  %0 = ptl.elementwise sub %w, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %1 = ptl.elementwise relu %0 : (tensor<f32>) -> tensor<f32>
  %2 = ptl.elementwise add %1, %v : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %3 = ptl.elementwise mul %2, %2 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>
}
//--- kink.mlir
func.func @step(%w: tensor<f32> {ptl.role = "weight", ptl.path = "w", run.value = [0.5]},
                %v: tensor<f32> {ptl.role = "weight", ptl.path = "v", run.value = [2.0]}) -> (tensor<f32> {ptl.role = "grad_norm"}) {
  %g = ptl.constant 0.0 {ptl.grad = "w"} : tensor<f32>
  %h = ptl.elementwise add %v, %v {ptl.grad = "v"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %1 = ptl.global_norm %g, %h : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
