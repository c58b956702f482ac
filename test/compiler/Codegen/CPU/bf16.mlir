// RUN: ptl-native %s | FileCheck %s
// RUN: ptl-native %s --passes=fuse-expand-rows,cse,fuse-rows,fuse-outline-single,memory-plan-buffers | FileCheck %s
// CHECK: 7 of 7 results agree

// Numbers are rounded as they are stored, alike in all kernels: usual ones, those around the largest, not-a-number. Products
// add up in f32, and a value in bf16 that is read by several kernels is widened in each.

#be = #ptl.dims<[batch, embed]>
#b = #ptl.dims<[batch]>
#ef = #ptl.dims<[embed, ffn]>
#bf = #ptl.dims<[batch, ffn]>

func.func @logits(%x: tensor<5x70xf32, #be>, %w: tensor<70x6xf32, #ef>)
    -> (tensor<5x70xf32, #be>, tensor<5x70xf32, #be>, tensor<5x70xf32, #be>, tensor<5x6xf32, #bf>, tensor<5xf32, #b>, tensor<5xf32, #b>, tensor<70xf32, #ptl.dims<[embed]>>) {
  %h = ptl.elementwise cast %x : (tensor<5x70xf32, #be>) -> tensor<5x70xbf16, #be>
  %wide = ptl.elementwise cast %h : (tensor<5x70xbf16, #be>) -> tensor<5x70xf32, #be>
  %large = ptl.constant 3.4e38 : tensor<5x70xf32, #be>
  %near = ptl.elementwise mul %x, %large : (tensor<5x70xf32, #be>, tensor<5x70xf32, #be>) -> tensor<5x70xf32, #be>
  %near16 = ptl.elementwise cast %near : (tensor<5x70xf32, #be>) -> tensor<5x70xbf16, #be>
  %near32 = ptl.elementwise cast %near16 : (tensor<5x70xbf16, #be>) -> tensor<5x70xf32, #be>
  %log = ptl.elementwise log %x : (tensor<5x70xf32, #be>) -> tensor<5x70xf32, #be>
  %nan16 = ptl.elementwise cast %log : (tensor<5x70xf32, #be>) -> tensor<5x70xbf16, #be>
  %nan32 = ptl.elementwise cast %nan16 : (tensor<5x70xbf16, #be>) -> tensor<5x70xf32, #be>
  %w16 = ptl.elementwise cast %w : (tensor<70x6xf32, #ef>) -> tensor<70x6xbf16, #ef>
  %y = ptl.dot %h, %w16 over [embed] : (tensor<5x70xbf16, #be>, tensor<70x6xbf16, #ef>) -> tensor<5x6xf32, #bf>
  %sum = ptl.reduce sum %wide over [embed] : tensor<5x70xf32, #be> -> tensor<5xf32, #b>
  %top16 = ptl.reduce max %h over [embed] : tensor<5x70xbf16, #be> -> tensor<5xbf16, #b>
  %top = ptl.elementwise cast %top16 : (tensor<5xbf16, #b>) -> tensor<5xf32, #b>
  %square = ptl.elementwise mul %wide, %wide : (tensor<5x70xf32, #be>, tensor<5x70xf32, #be>) -> tensor<5x70xf32, #be>
  %columns = ptl.reduce sum %square over [batch] : tensor<5x70xf32, #be> -> tensor<70xf32, #ptl.dims<[embed]>>
  return %wide, %near32, %nan32, %y, %sum, %top, %columns : tensor<5x70xf32, #be>, tensor<5x70xf32, #be>, tensor<5x70xf32, #be>, tensor<5x6xf32, #bf>, tensor<5xf32, #b>, tensor<5xf32, #b>, tensor<70xf32, #ptl.dims<[embed]>>
}
