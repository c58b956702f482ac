// RUN: ptl-run --all %s | FileCheck %s
// Contractions and folds, with results in an order of their own.

#ab = #ptl.dims<[a, b]>
#ba = #ptl.dims<[b, a]>
#bc = #ptl.dims<[b, c]>
#ca = #ptl.dims<[c, a]>
#ac = #ptl.dims<[a, c]>
#a = #ptl.dims<[a]>
#b = #ptl.dims<[b]>

// [1 2; 3 4] [5 6; 7 8] = [19 22; 43 50], and its transpose.
// CHECK-LABEL: @product
// CHECK-NEXT: value 0: [a=2, c=2] 19 22 43 50
// CHECK-NEXT: value 1: [c=2, a=2] 19 43 22 50
func.func @product(%x: tensor<2x2xf32, #ab> {run.value = [1.0, 2.0, 3.0, 4.0]},
                   %y: tensor<2x2xf32, #bc> {run.value = [5.0, 6.0, 7.0, 8.0]})
    -> (tensor<2x2xf32, #ac>, tensor<2x2xf32, #ca>) {
  %0 = ptl.dot %x, %y over [b] : (tensor<2x2xf32, #ab>, tensor<2x2xf32, #bc>) -> tensor<2x2xf32, #ac>
  %1 = ptl.dot %x, %y over [b] : (tensor<2x2xf32, #ab>, tensor<2x2xf32, #bc>) -> tensor<2x2xf32, #ca>
  return %0, %1 : tensor<2x2xf32, #ac>, tensor<2x2xf32, #ca>
}

// A name of both that isn't summed is aligned: row products. Names of one operand may be summed, too.
// CHECK-LABEL: @aligned
// CHECK-NEXT: value 0: [b=2] 12 24
// CHECK-NEXT: value 1: 33
func.func @aligned(%x: tensor<2x2xf32, #ab> {run.value = [1.0, 2.0, 3.0, 4.0]},
                   %y: tensor<2xf32, #b> {run.value = [3.0, 4.0]}, %z: tensor<2xf32, #a> {run.value = [1.0, 1.0]})
    -> (tensor<2xf32, #b>, tensor<f32>) {
  %0 = ptl.dot %x, %y over [a] : (tensor<2x2xf32, #ab>, tensor<2xf32, #b>) -> tensor<2xf32, #b>
  %1 = ptl.dot %x, %z over [a, b] : (tensor<2x2xf32, #ab>, tensor<2xf32, #a>) -> tensor<f32>
  %2 = ptl.constant 3.3 : tensor<f32>
  %3 = ptl.elementwise mul %1, %2 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %0, %3 : tensor<2xf32, #b>, tensor<f32>
}

// CHECK-LABEL: @folds
// CHECK-NEXT: value 0: [a=2] 6 -4
// CHECK-NEXT: value 1: [b=3] 1 2 3
// CHECK-NEXT: value 2: -5
func.func @folds(%x: tensor<2x3xf32, #ab> {run.value = [1.0, 2.0, 3.0, -5.0, 1.0, 0.0]})
    -> (tensor<2xf32, #a>, tensor<3xf32, #b>, tensor<f32>) {
  %0 = ptl.reduce sum %x over [b] : tensor<2x3xf32, #ab> -> tensor<2xf32, #a>
  %1 = ptl.reduce max %x over [a] : tensor<2x3xf32, #ab> -> tensor<3xf32, #b>
  %2 = ptl.reduce min %x over [b, a] : tensor<2x3xf32, #ab> -> tensor<f32>
  return %0, %1, %2 : tensor<2xf32, #a>, tensor<3xf32, #b>, tensor<f32>
}

// CHECK-LABEL: @broadcast
// CHECK-NEXT: value 0: [b=2, a=3] 1 1 1 2 2 2
// CHECK-NEXT: value 1: [b=2, a=2] 1 3 2 4
func.func @broadcast(%x: tensor<2xf32, #b> {run.value = [1.0, 2.0]},
                     %y: tensor<2x2xf32, #ab> {run.value = [1.0, 2.0, 3.0, 4.0]})
    -> (tensor<2x3xf32, #ba>, tensor<2x2xf32, #ba>) {
  %0 = ptl.broadcast %x : tensor<2xf32, #b> -> tensor<2x3xf32, #ba>
  %1 = ptl.broadcast %y : tensor<2x2xf32, #ab> -> tensor<2x2xf32, #ba>
  return %0, %1 : tensor<2x3xf32, #ba>, tensor<2x2xf32, #ba>
}
