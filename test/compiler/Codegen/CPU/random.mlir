// RUN: ptl-native %s | FileCheck %s
// RUN: ptl-native %s --passes=fuse-expand-rows,cse,fuse-rows,fuse-outline-single,memory-plan-buffers | FileCheck %s
// CHECK: 3 of 3 results agree

#bs = #ptl.dims<[batch, seq]>

// Every element depends on its index, the step, the seed and the place alone.
func.func @eval(%x: tensor<3x37xf32, #bs>, %step: tensor<i64> {ptl.role = "step"}) -> (tensor<3x37xf32, #bs>, tensor<3x37xf32, #bs>, tensor<3x37xf32, #bs>) {
  %u = ptl.random uniform place "a#0" step %step : tensor<i64> -> tensor<3x37xf32, #bs>
  %n = ptl.random normal place "a#1" step %step : tensor<i64> -> tensor<3x37xf32, #bs>
  %y = ptl.elementwise mul %x, %u : (tensor<3x37xf32, #bs>, tensor<3x37xf32, #bs>) -> tensor<3x37xf32, #bs>
  return %u, %n, %y : tensor<3x37xf32, #bs>, tensor<3x37xf32, #bs>, tensor<3x37xf32, #bs>
}
