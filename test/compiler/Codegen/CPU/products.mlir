// RUN: ptl-native %s --tolerance 3e-6 | FileCheck %s
// RUN: ptl-native %s --tolerance 3e-6 --passes=fuse-expand-rows,cse,fuse-rows,fuse-outline-single,memory-plan-buffers | FileCheck %s
// CHECK: 9 of 9 results agree

#bse = #ptl.dims<[batch, seq, embed]>
#ehd = #ptl.dims<[embed, heads, hdim]>
#bshd = #ptl.dims<[batch, seq, heads, hdim]>
#hde = #ptl.dims<[heads, hdim, embed]>
#ve = #ptl.dims<[vocab, embed]>
#bsv = #ptl.dims<[batch, seq, vocab]>
#e = #ptl.dims<[embed]>
#bs = #ptl.dims<[batch, seq]>
#hbt = #ptl.dims<[heads, batch, seq, seq.key]>
#bkhd = #ptl.dims<[batch, seq.key, heads, hdim]>
#hsb = #ptl.dims<[embed, batch]>

func.func @logits(%x: tensor<2x6x32xf32, #bse>, %wq: tensor<32x4x8xf32, #ehd>, %wo: tensor<4x8x32xf32, #hde>, %wte: tensor<11x32xf32, #ve>, %k: tensor<2x7x4x8xf32, #bkhd>, %v: tensor<32xf32, #e>)
    -> (tensor<2x6x4x8xf32, #bshd>, tensor<2x6x32xf32, #bse>, tensor<2x6x11xf32, #bsv>, tensor<32x4x8xf32, #ehd>, tensor<4x2x6x7xf32, #hbt>, tensor<2x6xf32, #bs>, tensor<32x2xf32, #hsb>, tensor<11x32xf32, #ve>, tensor<f32>) {
  %q = ptl.dot %x, %wq over [embed] : (tensor<2x6x32xf32, #bse>, tensor<32x4x8xf32, #ehd>) -> tensor<2x6x4x8xf32, #bshd>
  %o = ptl.dot %q, %wo over [heads, hdim] : (tensor<2x6x4x8xf32, #bshd>, tensor<4x8x32xf32, #hde>) -> tensor<2x6x32xf32, #bse>
  %z = ptl.dot %o, %wte over [embed] : (tensor<2x6x32xf32, #bse>, tensor<11x32xf32, #ve>) -> tensor<2x6x11xf32, #bsv>
  %dwq = ptl.dot %x, %q over [batch, seq] : (tensor<2x6x32xf32, #bse>, tensor<2x6x4x8xf32, #bshd>) -> tensor<32x4x8xf32, #ehd>
  %s = ptl.dot %q, %k over [hdim] : (tensor<2x6x4x8xf32, #bshd>, tensor<2x7x4x8xf32, #bkhd>) -> tensor<4x2x6x7xf32, #hbt>
  // A vector: not worth a library call.
  %mv = ptl.dot %x, %v over [embed] : (tensor<2x6x32xf32, #bse>, tensor<32xf32, #e>) -> tensor<2x6xf32, #bs>
  // The batch dimension is last in the result.
  %bl = ptl.dot %x, %o over [seq] : (tensor<2x6x32xf32, #bse>, tensor<2x6x32xf32, #bse>) -> tensor<32x2xf32, #hsb>
  %dwte = ptl.dot %z, %o over [batch, seq] : (tensor<2x6x11xf32, #bsv>, tensor<2x6x32xf32, #bse>) -> tensor<11x32xf32, #ve>
  %all = ptl.dot %x, %o over [batch, seq, embed] : (tensor<2x6x32xf32, #bse>, tensor<2x6x32xf32, #bse>) -> tensor<f32>
  return %q, %o, %z, %dwq, %s, %mv, %bl, %dwte, %all : tensor<2x6x4x8xf32, #bshd>, tensor<2x6x32xf32, #bse>, tensor<2x6x11xf32, #bsv>, tensor<32x4x8xf32, #ehd>, tensor<4x2x6x7xf32, #hbt>, tensor<2x6xf32, #bs>, tensor<32x2xf32, #hsb>, tensor<11x32xf32, #ve>, tensor<f32>
}
