// RUN: ptl-opt %s --fuse-outline-single | FileCheck %s

#be = #ptl.dims<[batch, embed]>
#b = #ptl.dims<[batch]>
#e = #ptl.dims<[embed]>
#ef = #ptl.dims<[embed, ffn]>
#bf = #ptl.dims<[batch, ffn]>

// A product with a matrix is a library call, one with a vector a loop; constants and broadcasts are copied
// into the kernels that read them.
// CHECK-LABEL: func @f
// CHECK-NOT:     ptl.constant
// CHECK:         rt.kernel matmul(%arg0, %arg1) iterate []
// CHECK:         rt.kernel rows(%arg0, %arg2) iterate [batch]
// CHECK:         rt.kernel rows
// CHECK:           ptl.constant 2
// CHECK:           ptl.broadcast
func.func @f(%x: tensor<8x16xf32, #be>, %w: tensor<16x4xf32, #ef>, %v: tensor<16xf32, #e>) -> (tensor<8x4xf32, #bf>, tensor<8xf32, #b>, tensor<8x4xf32, #bf>) {
  %c = ptl.constant 2 : tensor<8xf32, #b>
  %cb = ptl.broadcast %c : tensor<8xf32, #b> -> tensor<8x4xf32, #bf>
  %y = ptl.dot %x, %w over [embed] : (tensor<8x16xf32, #be>, tensor<16x4xf32, #ef>) -> tensor<8x4xf32, #bf>
  %d = ptl.dot %x, %v over [embed] : (tensor<8x16xf32, #be>, tensor<16xf32, #e>) -> tensor<8xf32, #b>
  %z = ptl.elementwise mul %y, %cb : (tensor<8x4xf32, #bf>, tensor<8x4xf32, #bf>) -> tensor<8x4xf32, #bf>
  return %y, %d, %z : tensor<8x4xf32, #bf>, tensor<8xf32, #b>, tensor<8x4xf32, #bf>
}
