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

// -----

#bse = #ptl.dims<[batch, seq, embed]>
#bwe = #ptl.dims<[batch, whole, embed]>
#bs = #ptl.dims<[batch, seq]>
#s = #ptl.dims<[seq]>
#e = #ptl.dims<[embed]>

// A device's part of a dimension: arithmetic on its indices doesn't make one piece of work of all rows, which would also add
// them up in another order.
// CHECK-LABEL: func @part
// CHECK:         %[[K:.*]]:3 = rt.kernel rows({{.*}}) iterate [batch, seq]
// CHECK:           ptl.elementwise min
// CHECK-NEXT:      ptl.gather
// CHECK-NOT:     rt.kernel
// CHECK:         return %[[K]]#0, %[[K]]#1, %[[K]]#2
func.func @part(%x: tensor<4x6x64xf32, #bwe>) -> (tensor<4x3x64xf32, #bse>, tensor<4x3xf32, #bs>, tensor<64xf32, #e>) {
  %i = ptl.iota seq : tensor<3xi32, #s>
  %five = ptl.constant 5 : tensor<3xi32, #s>
  %k = ptl.elementwise min %i, %five : (tensor<3xi32, #s>, tensor<3xi32, #s>) -> tensor<3xi32, #s>
  %p = ptl.gather %x[whole : %k] : (tensor<4x6x64xf32, #bwe>, tensor<3xi32, #s>) -> tensor<4x3x64xf32, #bse>
  %y = ptl.elementwise exp %p : (tensor<4x3x64xf32, #bse>) -> tensor<4x3x64xf32, #bse>
  %r = ptl.reduce sum %y over [embed] : tensor<4x3x64xf32, #bse> -> tensor<4x3xf32, #bs>
  %c = ptl.reduce sum %y over [batch, seq] : tensor<4x3x64xf32, #bse> -> tensor<64xf32, #e>
  return %y, %r, %c : tensor<4x3x64xf32, #bse>, tensor<4x3xf32, #bs>, tensor<64xf32, #e>
}

// -----

#tse = #ptl.dims<[time, seq, embed]>
#se = #ptl.dims<[seq, embed]>
#e = #ptl.dims<[embed]>

// Rows of `seq` would add up what the sum adds by `time` first.
// CHECK-LABEL: func @order
// CHECK:         rt.kernel rows({{.*}}) iterate [seq]
// CHECK:         rt.kernel rows({{.*}}) iterate [time, seq]
// CHECK:           ptl.reduce sum
func.func @order(%x: tensor<4x3x64xf32, #tse>, %w: tensor<3x64xf32, #se>) -> (tensor<4x3x64xf32, #tse>, tensor<64xf32, #e>) {
  %v = ptl.elementwise exp %w : (tensor<3x64xf32, #se>) -> tensor<3x64xf32, #se>
  %b = ptl.broadcast %v : tensor<3x64xf32, #se> -> tensor<4x3x64xf32, #tse>
  %y = ptl.elementwise mul %x, %b : (tensor<4x3x64xf32, #tse>, tensor<4x3x64xf32, #tse>) -> tensor<4x3x64xf32, #tse>
  %c = ptl.reduce sum %y over [time, seq] : tensor<4x3x64xf32, #tse> -> tensor<64xf32, #e>
  return %y, %c : tensor<4x3x64xf32, #tse>, tensor<64xf32, #e>
}

// -----

#be = #ptl.dims<[batch, embed]>

// What ranks of a pipeline give each other keeps its order, so a kernel can't hold both what is given and what is made of what is
// taken later.
// CHECK-LABEL: func @exchanges
// CHECK:         %[[G:.*]] = rt.kernel rows(%arg0)
// CHECK:         rt.exchange %[[G]] with 1
// CHECK-NEXT:    %[[T:.*]] = rt.exchange with 1
// CHECK-NEXT:    rt.kernel rows(%[[T]], %arg0)
module attributes {rt.pipe_rank = 0 : i64, ptl.plan = {pipeline = {axis = "pp"}}} {
  func.func @exchanges(%x: tensor<8x16xf32, #be>) -> tensor<8x16xf32, #be> {
    %e = ptl.elementwise exp %x : (tensor<8x16xf32, #be>) -> tensor<8x16xf32, #be>
    rt.exchange %e with 1 : (tensor<8x16xf32, #be>) -> ()
    %t = rt.exchange with 1 : () -> tensor<8x16xf32, #be>
    %m = ptl.elementwise mul %t, %x : (tensor<8x16xf32, #be>, tensor<8x16xf32, #be>) -> tensor<8x16xf32, #be>
    return %m : tensor<8x16xf32, #be>
  }
}
