// RUN: ptl-opt %s --split-input-file --fuse-rows | FileCheck %s

#be = #ptl.dims<[batch, embed]>
#b = #ptl.dims<[batch]>
#e = #ptl.dims<[embed]>

// A bias, its function and the column sum of the result are one kernel; the sum only leaves it.
// CHECK-LABEL: func @bias
// CHECK:         %[[K:.*]]:2 = rt.kernel rows({{.*}}) iterate [batch]
// CHECK-NOT:     rt.kernel
// CHECK:         return %[[K]]#0, %[[K]]#1
func.func @bias(%x: tensor<5x70xf32, #be>, %bias: tensor<70xf32, #e>) -> (tensor<5x70xf32, #be>, tensor<70xf32, #e>) {
  %bb = ptl.broadcast %bias : tensor<70xf32, #e> -> tensor<5x70xf32, #be>
  %u = ptl.elementwise add %x, %bb : (tensor<5x70xf32, #be>, tensor<5x70xf32, #be>) -> tensor<5x70xf32, #be>
  %g = ptl.elementwise gelu %u : (tensor<5x70xf32, #be>) -> tensor<5x70xf32, #be>
  %c = ptl.reduce sum %g over [batch] : tensor<5x70xf32, #be> -> tensor<70xf32, #e>
  return %g, %c : tensor<5x70xf32, #be>, tensor<70xf32, #e>
}

// -----

#be = #ptl.dims<[batch, embed]>
#e = #ptl.dims<[embed]>

// What a sum over rows feeds must wait for all rows: a kernel of its own.
// CHECK-LABEL: func @after_sum
// CHECK:         %[[S:.*]] = rt.kernel rows
// CHECK:         rt.kernel rows({{.*}}%[[S]]{{.*}})
func.func @after_sum(%x: tensor<5x70xf32, #be>) -> tensor<5x70xf32, #be> {
  %s = ptl.reduce sum %x over [batch] : tensor<5x70xf32, #be> -> tensor<70xf32, #e>
  %sb = ptl.broadcast %s : tensor<70xf32, #e> -> tensor<5x70xf32, #be>
  %y = ptl.elementwise sub %x, %sb : (tensor<5x70xf32, #be>, tensor<5x70xf32, #be>) -> tensor<5x70xf32, #be>
  return %y : tensor<5x70xf32, #be>
}

// -----

#be = #ptl.dims<[batch, embed]>
#ef = #ptl.dims<[embed, ffn]>
#bf = #ptl.dims<[batch, ffn]>

// The product lies between: the first kernel can't take in what depends on it. The cheap sum is computed
// again by the second kernel, which reads %x and %y anyway, so it is no result of the first.
// CHECK-LABEL: func @around
// CHECK:         %[[E:.*]] = rt.kernel rows(%arg0, %arg1)
// CHECK-SAME:      -> tensor<8x16xf32
// CHECK:         %[[D:.*]] = ptl.dot %[[E]]
// CHECK:         %[[R:.*]] = ptl.reshape %[[D]]
// CHECK:         rt.kernel rows(%arg0, %arg1, %[[R]])
// CHECK:           ptl.elementwise add
func.func @around(%x: tensor<8x16xf32, #be>, %y: tensor<8x16xf32, #be>, %w: tensor<16x16xf32, #ef>) -> tensor<8x16xf32, #be> {
  %s = ptl.elementwise add %x, %y : (tensor<8x16xf32, #be>, tensor<8x16xf32, #be>) -> tensor<8x16xf32, #be>
  %e = ptl.elementwise exp %s : (tensor<8x16xf32, #be>) -> tensor<8x16xf32, #be>
  %d = ptl.dot %e, %w over [embed] : (tensor<8x16xf32, #be>, tensor<16x16xf32, #ef>) -> tensor<8x16xf32, #bf>
  %r = ptl.reshape %d [[ffn] -> [embed]] : tensor<8x16xf32, #bf> -> tensor<8x16xf32, #be>
  %m = ptl.elementwise mul %r, %x : (tensor<8x16xf32, #be>, tensor<8x16xf32, #be>) -> tensor<8x16xf32, #be>
  %z = ptl.elementwise mul %m, %s : (tensor<8x16xf32, #be>, tensor<8x16xf32, #be>) -> tensor<8x16xf32, #be>
  return %z : tensor<8x16xf32, #be>
}
