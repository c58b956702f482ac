// RUN: ptl-native %s | FileCheck %s
// RUN: ptl-native %s --passes=fuse-expand-rows,cse,fuse-rows,fuse-outline-single,memory-plan-buffers | FileCheck %s
// CHECK: 11 of 11 results agree

#bse = #ptl.dims<[batch, seq, embed]>
#bshd = #ptl.dims<[batch, seq, heads, hdim]>
#esb = #ptl.dims<[embed, seq, batch]>
#hbsd = #ptl.dims<[heads, batch, seq, hdim]>
#bxe = #ptl.dims<[batch, last, embed]>
#bpe = #ptl.dims<[batch, longer, embed]>
#ve = #ptl.dims<[vocab, embed]>
#bs = #ptl.dims<[batch, seq]>

func.func @logits(%x: tensor<2x6x32xf32, #bse>, %table: tensor<11x32xf32, #ve>, %ids: tensor<2x6xi32, #bs>)
    -> (tensor<2x6x4x8xf32, #bshd>, tensor<32x6x2xf32, #esb>, tensor<4x2x6x8xf32, #hbsd>, tensor<2x3x32xf32, #bxe>, tensor<2x9x32xf32, #bpe>,
        tensor<2x9x32xf32, #bpe>, tensor<2x6x32xf32, #bse>, tensor<11x32xf32, #ve>, tensor<11x32xf32, #ve>, tensor<11x32xf32, #ve>, tensor<2x6x32xf32, #bse>) {
  %split = ptl.reshape %x [[embed] -> [heads, hdim]] : tensor<2x6x32xf32, #bse> -> tensor<2x6x4x8xf32, #bshd>
  %moved = ptl.broadcast %x : tensor<2x6x32xf32, #bse> -> tensor<32x6x2xf32, #esb>
  %front = ptl.broadcast %split : tensor<2x6x4x8xf32, #bshd> -> tensor<4x2x6x8xf32, #hbsd>
  %last = ptl.slice %x seq -> last from 3 : tensor<2x6x32xf32, #bse> -> tensor<2x3x32xf32, #bxe>
  %padded = ptl.pad %x seq -> longer before 1 value 2.5 : tensor<2x6x32xf32, #bse> -> tensor<2x9x32xf32, #bpe>
  %joined = ptl.concat %x, %last [seq, last] -> longer : (tensor<2x6x32xf32, #bse>, tensor<2x3x32xf32, #bxe>) -> tensor<2x9x32xf32, #bpe>
  %rows = ptl.gather %table[vocab : %ids] : (tensor<11x32xf32, #ve>, tensor<2x6xi32, #bs>) -> tensor<2x6x32xf32, #bse>
  %back = ptl.scatter_add %ids, %x over vocab : (tensor<2x6xi32, #bs>, tensor<2x6x32xf32, #bse>) -> tensor<11x32xf32, #ve>
  %into = ptl.scatter_add %ids, %x over vocab into %table : (tensor<2x6xi32, #bs>, tensor<2x6x32xf32, #bse>, tensor<11x32xf32, #ve>) -> tensor<11x32xf32, #ve>
  // Negative ids are left out, and nothing in front of the result changes.
  %five = ptl.constant 5 : tensor<2x6xi32, #bs>
  %below = ptl.elementwise sub %ids, %five : (tensor<2x6xi32, #bs>, tensor<2x6xi32, #bs>) -> tensor<2x6xi32, #bs>
  %some = ptl.scatter_add %below, %x over vocab : (tensor<2x6xi32, #bs>, tensor<2x6x32xf32, #bse>) -> tensor<11x32xf32, #ve>
  // Merging dimensions that are not neighbours in memory moves elements.
  %merged = ptl.reshape %front [[heads, hdim] -> [embed]] : tensor<4x2x6x8xf32, #hbsd> -> tensor<32x2x6xf32, #ptl.dims<[embed, batch, seq]>>
  %same = ptl.broadcast %merged : tensor<32x2x6xf32, #ptl.dims<[embed, batch, seq]>> -> tensor<2x6x32xf32, #bse>
  return %split, %moved, %front, %last, %padded, %joined, %rows, %back, %into, %some, %same : tensor<2x6x4x8xf32, #bshd>, tensor<32x6x2xf32, #esb>, tensor<4x2x6x8xf32, #hbsd>,
        tensor<2x3x32xf32, #bxe>, tensor<2x9x32xf32, #bpe>, tensor<2x9x32xf32, #bpe>, tensor<2x6x32xf32, #bse>, tensor<11x32xf32, #ve>, tensor<11x32xf32, #ve>, tensor<11x32xf32, #ve>, tensor<2x6x32xf32, #bse>
}
