// RUN: ptl-opt %s --fuse-expand-rows | FileCheck %s

#be = #ptl.dims<[batch, embed]>
#q = #ptl.dims<[batch, seq, heads, hdim]>
#l = #ptl.dims<[batch, seq, heads]>

// Row-wise composites become primitives; attention stays for the runtime.
// CHECK-LABEL: func @f
// CHECK:         ptl.reduce max
// CHECK:         ptl.elementwise exp
// CHECK-NOT:     ptl.softmax
// CHECK-NOT:     ptl.stop_gradient
// CHECK:         ptl.attention
func.func @f(%x: tensor<5x70xf32, #be>, %q: tensor<2x9x4x16xf32, #q>) -> (tensor<5x70xf32, #be>, tensor<2x9x4x16xf32, #q>) {
  %p = ptl.softmax %x over embed : tensor<5x70xf32, #be> -> tensor<5x70xf32, #be>
  %y, %lse = ptl.attention %q, %q, %q over seq depth hdim -> hdim scale 0.25 causal
    : (tensor<2x9x4x16xf32, #q>, tensor<2x9x4x16xf32, #q>, tensor<2x9x4x16xf32, #q>) -> (tensor<2x9x4x16xf32, #q>, tensor<2x9x4xf32, #l>)
  return %p, %y : tensor<5x70xf32, #be>, tensor<2x9x4x16xf32, #q>
}
