// RUN: ptl-run --all %s | FileCheck %s
// A kernel is its body; what its body marks is kept.

#b = #ptl.dims<[batch]>

// CHECK-LABEL: @kernel
// CHECK-NEXT: value 0: [batch=2] 2 4
// CHECK-NEXT: value 1: 3
func.func @kernel(%x: tensor<2xf32, #b> {run.value = [1.0, 2.0]}) -> (tensor<2xf32, #b>, tensor<f32>) {
  %y, %s = rt.kernel rows(%x) iterate [batch] : (tensor<2xf32, #b>) -> (tensor<2xf32, #b>, tensor<f32>) {
  ^bb0(%a: tensor<2xf32, #b>):
    %0 = ptl.elementwise add %a, %a : (tensor<2xf32, #b>, tensor<2xf32, #b>) -> tensor<2xf32, #b>
    %1 = ptl.reduce sum %a over [batch] : tensor<2xf32, #b> -> tensor<f32>
    rt.return %0, %1 : tensor<2xf32, #b>, tensor<f32>
  }
  return %y, %s : tensor<2xf32, #b>, tensor<f32>
}
