// RUN: ptl-opt %s --fuse-expand-rows --fuse-rows --fuse-outline-single "--fuse-chunk-rows=threshold=4096 min-rows=8" | FileCheck %s
// RUN: ptl-opt %s --fuse-expand-rows --fuse-rows --fuse-outline-single "--fuse-chunk-rows=threshold=4096 min-rows=8" -o %t.mlir
// RUN: ptl-run --compare --all %s %t.mlir
// Six pieces of 6 rows would be small enough; three have enough rows.

#bs = #ptl.dims<[batch, seq]>
#bse = #ptl.dims<[batch, seq, embed]>
#bsv = #ptl.dims<[batch, seq, vocab]>
#ve = #ptl.dims<[vocab, embed]>
#b = #ptl.dims<[batch]>
!x = tensor<6x6x4xf32, #bse>
!w = tensor<256x4xf32, #ve>
!z = tensor<6x6x256xf32, #bsv>
!z32 = tensor<6x6x256xi32, #bsv>
!ids = tensor<6x6xi32, #bs>
!row = tensor<6x6xf32, #bs>

// Logits, loss and gradient, all one piece at a time. What lies between them but depends on them moves behind the loop.
// CHECK-LABEL: func @head
// CHECK:         %[[R:.*]]:3 = rt.chunks 3 along batch (%[[K:.*]]) -> tensor<f32>, tensor<6x6x4xf32, {{.*}}>, tensor<256x4xf32, {{.*}}> {
// CHECK-NEXT:      %[[X:.*]] = ptl.microbatch %arg0[%[[K]]] of 3 along batch
// CHECK-NEXT:      %[[T:.*]] = ptl.microbatch %arg2[%[[K]]] of 3 along batch
// CHECK-NEXT:      %[[Z:.*]] = rt.kernel matmul(%[[X]], %arg1) {{.*}} -> tensor<2x6x256xf32
// CHECK:           %[[L:.*]]:2 = rt.kernel rows(%[[Z]], %[[T]])
// CHECK:           ptl.iota vocab : tensor<256xi32
// CHECK:           %[[DX:.*]] = rt.kernel matmul(%[[L]]#1, %arg1)
// CHECK:           %[[DW:.*]] = rt.kernel matmul(%[[L]]#1, %[[X]])
// CHECK:           rt.return %[[L]]#0, %[[DX]], %[[DW]]
// CHECK:         rt.kernel rows(%[[R]]#0)
func.func @head(%x: !x, %w: !w, %t: !ids) -> (tensor<f32>, !x, !w) {
  %z = ptl.dot %x, %w over [embed] : (!x, !w) -> !z
  %l, %lse = ptl.cross_entropy %z, %t over vocab : (!z, !ids) -> (!row, !row)
  %s = ptl.reduce sum %l over [batch, seq] : !row -> tensor<f32>
  %c = ptl.constant 0.5 : tensor<f32>
  %m = ptl.elementwise mul %s, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %one = ptl.constant 1 : !row
  %dz = ptl.cross_entropy_grad %one, %z, %t, %lse over vocab : (!row, !z, !ids, !row) -> !z
  %dx = ptl.dot %dz, %w over [vocab] : (!z, !w) -> !x
  %dw = ptl.dot %dz, %x over [batch, seq] : (!z, !x) -> !w
  return %m, %dx, %dw : tensor<f32>, !x, !w
}

// A piece knows where it lies: indices along the dimension, and what is masked there.
// CHECK-LABEL: func @positions
// CHECK:         rt.chunks 3 along batch
// CHECK:           ptl.iota batch {cut = #spmd.cuts<[batch global 6 chunks 3]>} : tensor<2xi32
func.func @positions(%x: !x, %w: !w) -> !x {
  %z = ptl.dot %x, %w over [embed] : (!x, !w) -> !z
  %i = ptl.iota batch : tensor<6xi32, #b>
  %ib = ptl.broadcast %i : tensor<6xi32, #b> -> !z32
  %ff = ptl.elementwise cast %ib : (!z32) -> !z
  %u = ptl.elementwise mul %z, %ff : (!z, !z) -> !z
  %y = ptl.dot %u, %w over [vocab] : (!z, !w) -> !x
  return %y : !x
}

// Someone else needs the whole value.
// CHECK-LABEL: func @kept
// CHECK-NOT:     rt.chunks
func.func @kept(%x: !x, %w: !w) -> (!z, !x) {
  %z = ptl.dot %x, %w over [embed] : (!x, !w) -> !z
  %y = ptl.dot %z, %w over [vocab] : (!z, !w) -> !x
  return %z, %y : !z, !x
}

// The second product needs a sum over all rows: there is no order of pieces.
// CHECK-LABEL: func @needs_sum
// CHECK-NOT:     rt.chunks
func.func @needs_sum(%x: !x, %w: !w) -> !x {
  %z = ptl.dot %x, %w over [embed] : (!x, !w) -> !z
  %s = ptl.reduce sum %z over [batch, seq, vocab] : !z -> tensor<f32>
  %b = ptl.broadcast %s : tensor<f32> -> !z
  %u = ptl.elementwise div %z, %b : (!z, !z) -> !z
  %y = ptl.dot %u, %w over [vocab] : (!z, !w) -> !x
  return %y : !x
}

// One row of the batch: pieces of the sequence.
// CHECK-LABEL: func @sequence
// CHECK:         rt.chunks 4 along seq
// CHECK:           rt.kernel matmul{{.*}} -> tensor<1x9x256xf32
func.func @sequence(%x: tensor<1x36x4xf32, #bse>, %w: !w) -> tensor<1x36x4xf32, #bse> {
  %z = ptl.dot %x, %w over [embed] : (tensor<1x36x4xf32, #bse>, !w) -> tensor<1x36x256xf32, #bsv>
  %u = ptl.elementwise gelu %z : (tensor<1x36x256xf32, #bsv>) -> tensor<1x36x256xf32, #bsv>
  %y = ptl.dot %u, %w over [vocab] : (tensor<1x36x256xf32, #bsv>, !w) -> tensor<1x36x4xf32, #bse>
  return %y : tensor<1x36x4xf32, #bse>
}

// A product's sum over the pieces is f32, whatever type it is wanted in: it is rounded once, behind the loop.
// CHECK-LABEL: func @half
// CHECK:         %[[R:.*]]:2 = rt.chunks {{.*}} -> tensor<6x6x4xbf16, {{.*}}>, tensor<256x4xf32, {{.*}}> {
// CHECK:           rt.kernel matmul{{.*}} -> tensor<256x4xf32
// CHECK:           ptl.dot {{.*}} -> tensor<256x4xf32
// CHECK:         rt.kernel rows(%[[R]]#1) {{.*}} -> tensor<256x4xbf16
// CHECK:           ptl.elementwise cast
!x16 = tensor<6x6x4xbf16, #bse>
!w16 = tensor<256x4xbf16, #ve>
!z16 = tensor<6x6x256xbf16, #bsv>
func.func @half(%x: !x16, %w: !w16) -> (!x16, !w16) {
  %z = ptl.dot %x, %w over [embed] : (!x16, !w16) -> !z16
  %dx = ptl.dot %z, %w over [vocab] : (!z16, !w16) -> !x16
  %dw = ptl.dot %z, %x over [batch, seq] : (!z16, !x16) -> !w16
  return %dx, %dw : !x16, !w16
}
