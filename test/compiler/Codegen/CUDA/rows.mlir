// RUN: ptl-native %s | FileCheck %s
// CHECK: 10 of 10 results agree

// Forms of rows that teams of threads treat differently; emulated.test runs them as GPU code.
#be = #ptl.dims<[batch, embed]>
#bv = #ptl.dims<[batch, vocab]>
#b = #ptl.dims<[batch]>
#bse = #ptl.dims<[batch, seq, embed]>
#se = #ptl.dims<[seq, embed]>
#bshd = #ptl.dims<[batch, seq, heads, hdim]>
#bsh = #ptl.dims<[batch, seq, heads]>

func.func @logits(%x: tensor<70x133xf32, #be>, %wide: tensor<2x30001xf32, #bv>, %h: tensor<3x5x24xf32, #bse>, %q: tensor<2x3x4x8xf32, #bshd>, %short: tensor<70x3xf32, #bv>, %step: tensor<i64> {ptl.role = "step"})
    -> (tensor<70x133xf32, #be>, tensor<133xf32, #ptl.dims<[embed]>>, tensor<2x30001xf32, #bv>, tensor<30001xf32, #ptl.dims<[vocab]>>, tensor<5x24xf32, #se>,
        tensor<2x3x4x8xf32, #bshd>, tensor<70x3xf32, #bv>, tensor<f32>, tensor<70xf32, #b>, tensor<2x30001xf32, #bv>) {
  // A warp, or several, for each row; sums over many rows in parts.
  %y = ptl.softmax %x over embed : tensor<70x133xf32, #be> -> tensor<70x133xf32, #be>
  %column = ptl.reduce sum %y over [batch] : tensor<70x133xf32, #be> -> tensor<133xf32, #ptl.dims<[embed]>>
  // A row that doesn't fit into registers, with a last element of its own.
  %p = ptl.softmax %wide over vocab : tensor<2x30001xf32, #bv> -> tensor<2x30001xf32, #bv>
  %columns = ptl.reduce sum %p over [batch] : tensor<2x30001xf32, #bv> -> tensor<30001xf32, #ptl.dims<[vocab]>>
  %drop = ptl.random uniform place "a#0" step %step : tensor<i64> -> tensor<2x30001xf32, #bv>
  %dropped = ptl.elementwise mul %p, %drop : (tensor<2x30001xf32, #bv>, tensor<2x30001xf32, #bv>) -> tensor<2x30001xf32, #bv>
  // A sum that keeps a dimension of the rows: a gradient of positions.
  %positions = ptl.reduce sum %h over [batch] : tensor<3x5x24xf32, #bse> -> tensor<5x24xf32, #se>
  // A fold that leaves a dimension of the row.
  %squares = ptl.elementwise mul %q, %q : (tensor<2x3x4x8xf32, #bshd>, tensor<2x3x4x8xf32, #bshd>) -> tensor<2x3x4x8xf32, #bshd>
  %sum = ptl.reduce sum %squares over [hdim] : tensor<2x3x4x8xf32, #bshd> -> tensor<2x3x4xf32, #bsh>
  %all = ptl.broadcast %sum : tensor<2x3x4xf32, #bsh> -> tensor<2x3x4x8xf32, #bshd>
  %normed = ptl.elementwise div %q, %all : (tensor<2x3x4x8xf32, #bshd>, tensor<2x3x4x8xf32, #bshd>) -> tensor<2x3x4x8xf32, #bshd>
  // Rows of fewer elements than a vector.
  %little = ptl.softmax %short over vocab : tensor<70x3xf32, #bv> -> tensor<70x3xf32, #bv>
  %total = ptl.reduce max %little over [batch, vocab] : tensor<70x3xf32, #bv> -> tensor<f32>
  %top = ptl.reduce max %x over [embed] : tensor<70x133xf32, #be> -> tensor<70xf32, #b>
  return %y, %column, %p, %columns, %positions, %normed, %little, %total, %top, %dropped : tensor<70x133xf32, #be>, tensor<133xf32, #ptl.dims<[embed]>>, tensor<2x30001xf32, #bv>,
        tensor<30001xf32, #ptl.dims<[vocab]>>, tensor<5x24xf32, #se>, tensor<2x3x4x8xf32, #bshd>, tensor<70x3xf32, #bv>, tensor<f32>, tensor<70xf32, #b>, tensor<2x30001xf32, #bv>
}
