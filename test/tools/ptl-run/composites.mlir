// RUN: ptl-run --all --f64 %s | FileCheck %s
// Composite operations from their definitions; the numbers were worked out by hand or to ten digits.

#d = #ptl.dims<[d]>
#sd = #ptl.dims<[s, d]>
#ds = #ptl.dims<[d, s]>
#s = #ptl.dims<[s]>

// exp of 0, ln 2, ln 3: 1/6, 2/6, 3/6, whatever is added to all. dx = y (dy - sum y dy) with
// dy = (6, 0, 0): sum = 1, so 5/6, -2/6, -3/6.
// CHECK-LABEL: @softmax
// CHECK-NEXT: value 0: [d=3] 0.166666667 0.333333333 0.5
// CHECK-NEXT: value 1: [d=3] 0.833333333 -0.333333333 -0.5
// CHECK-NEXT: value 2: [d=3] -1.79175947 -1.09861229 -0.693147181
// CHECK-NEXT: value 3: [d=3] 5 -2 -3
func.func @softmax(%x: tensor<3xf32, #d> {run.value = [0.0, 0.6931471805599453, 1.0986122886681098]},
                   %dy: tensor<3xf32, #d> {run.value = [6.0, 0.0, 0.0]})
    -> (tensor<3xf32, #d>, tensor<3xf32, #d>, tensor<3xf32, #d>, tensor<3xf32, #d>) {
  %0 = ptl.softmax %x over d : tensor<3xf32, #d> -> tensor<3xf32, #d>
  %1 = ptl.softmax_grad %0, %dy over d : (tensor<3xf32, #d>, tensor<3xf32, #d>) -> tensor<3xf32, #d>
  %2 = ptl.log_softmax %x over d : tensor<3xf32, #d> -> tensor<3xf32, #d>
  %3 = ptl.log_softmax_grad %2, %dy over d : (tensor<3xf32, #d>, tensor<3xf32, #d>) -> tensor<3xf32, #d>
  return %0, %1, %2, %3 : tensor<3xf32, #d>, tensor<3xf32, #d>, tensor<3xf32, #d>, tensor<3xf32, #d>
}

// Mean 2, variance 4, so xhat = (-1, -1, 1, 1); dy = (4, 0, 0, 0) gives 1/2 (dy - 1 + xhat).
// The mean of squares is 8, and with eps 1 rstd is 1/3; dz = (0, 0, 3, 0) gives 1/3 (dz - z).
// CHECK-LABEL: @norms
// CHECK-NEXT: value 0: [d=4] -1 -1 1 1
// CHECK-NEXT: value 1: 2
// CHECK-NEXT: value 2: 0.5
// CHECK-NEXT: value 3: [d=4] 1 -1 0 0
// CHECK-NEXT: value 4: [d=4] 0 0 1.33333333 1.33333333
// CHECK-NEXT: value 5: 0.333333333
// CHECK-NEXT: value 6: [d=4] 0 0 0.555555556 -0.444444444
func.func @norms(%x: tensor<4xf32, #d> {run.value = [0.0, 0.0, 4.0, 4.0]},
                 %dy: tensor<4xf32, #d> {run.value = [4.0, 0.0, 0.0, 0.0]},
                 %dz: tensor<4xf32, #d> {run.value = [0.0, 0.0, 3.0, 0.0]})
    -> (tensor<4xf32, #d>, tensor<f32>, tensor<f32>, tensor<4xf32, #d>, tensor<4xf32, #d>, tensor<f32>, tensor<4xf32, #d>) {
  %y, %mean, %rstd = ptl.layer_norm %x over d eps 0.0 : (tensor<4xf32, #d>) -> (tensor<4xf32, #d>, tensor<f32>, tensor<f32>)
  %dx = ptl.layer_norm_grad %dy, %x, %mean, %rstd over d : (tensor<4xf32, #d>, tensor<4xf32, #d>, tensor<f32>, tensor<f32>) -> tensor<4xf32, #d>
  %z, %zrstd = ptl.rms_norm %x over d eps 1.0 : (tensor<4xf32, #d>) -> (tensor<4xf32, #d>, tensor<f32>)
  %dr = ptl.rms_norm_grad %dz, %x, %zrstd over d : (tensor<4xf32, #d>, tensor<4xf32, #d>, tensor<f32>) -> tensor<4xf32, #d>
  return %y, %mean, %rstd, %dx, %z, %zrstd, %dr : tensor<4xf32, #d>, tensor<f32>, tensor<f32>, tensor<4xf32, #d>,
    tensor<4xf32, #d>, tensor<f32>, tensor<4xf32, #d>
}

// Logits ln 1, ln 2, ln 5: lse ln 8; targets 1, the ignored one, and 2: ln 4, 0, ln 1.6.
// CHECK-LABEL: @cross_entropy
// CHECK-NEXT: value 0: [s=3] 1.38629436 0 0.470003629
// CHECK-NEXT: value 1: [s=3] 2.07944154 2.07944154 2.07944154
// CHECK-NEXT: value 2: [d=3, s=3] 1 0 1 -6 0 2 5 0 -3
func.func @cross_entropy(%x: tensor<3x3xf32, #ds> {run.value = [0.0, 0.0, 0.0, 0.6931471805599453, 0.6931471805599453, 0.6931471805599453, 1.6094379124341003, 1.6094379124341003, 1.6094379124341003]},
                         %t: tensor<3xi32, #s> {run.value = [1, -100, 2]},
                         %dy: tensor<3xf32, #s> {run.value = [8.0]})
    -> (tensor<3xf32, #s>, tensor<3xf32, #s>, tensor<3x3xf32, #ds>) {
  %loss, %lse = ptl.cross_entropy %x, %t over d ignore -100 : (tensor<3x3xf32, #ds>, tensor<3xi32, #s>) -> (tensor<3xf32, #s>, tensor<3xf32, #s>)
  %dx = ptl.cross_entropy_grad %dy, %x, %t, %lse over d ignore -100 : (tensor<3xf32, #s>, tensor<3x3xf32, #ds>, tensor<3xi32, #s>, tensor<3xf32, #s>) -> tensor<3x3xf32, #ds>
  return %loss, %lse, %dx : tensor<3xf32, #s>, tensor<3xf32, #s>, tensor<3x3xf32, #ds>
}

// Position 1 turns (x0, x2) by 1 and (x1, x3) by theta^(-1/2) = 1/2; position 0 by nothing.
// CHECK-LABEL: @rope
// CHECK-NEXT: value 0: [s=2, d=4] 1 2 3 4 -1.98411065 -0.162537031 2.4623779 4.46918132
// CHECK-NEXT: value 1: [s=2, d=4] 1 2 3 4 1 2 3 4
func.func @rope(%x: tensor<2x4xf32, #sd> {run.value = [1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0]})
    -> (tensor<2x4xf32, #sd>, tensor<2x4xf32, #sd>) {
  %0 = ptl.rope %x over d along s theta 4.0 : tensor<2x4xf32, #sd> -> tensor<2x4xf32, #sd>
  %1 = ptl.rope %0 over d along s theta 4.0 inverse : tensor<2x4xf32, #sd> -> tensor<2x4xf32, #sd>
  %2 = ptl.constant 0.0 : tensor<2x4xf32, #sd>
  return %0, %1 : tensor<2x4xf32, #sd>, tensor<2x4xf32, #sd>
}
