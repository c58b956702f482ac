// RUN: ptl-native %s | FileCheck %s
// RUN: ptl-native %s --passes=fuse-expand-rows,cse,fuse-rows,fuse-outline-single,memory-plan-buffers | FileCheck %s
// CHECK: 9 of 9 results agree

#be = #ptl.dims<[batch, embed]>
#b = #ptl.dims<[batch]>
#e = #ptl.dims<[embed]>

func.func @logits(%x: tensor<5x70xf32, #be>, %bias: tensor<70xf32, #e>, %t: tensor<5xi32, #b>)
    -> (tensor<5x70xf32, #be>, tensor<5x70xf32, #be>, tensor<5xf32, #b>, tensor<70xf32, #e>, tensor<f32>,
        tensor<5x70xf32, #be>, tensor<5x70xi1, #be>, tensor<5xi32, #b>, tensor<5x70xf32, #be>) {
  %bb = ptl.broadcast %bias : tensor<70xf32, #e> -> tensor<5x70xf32, #be>
  %u = ptl.elementwise add %x, %bb : (tensor<5x70xf32, #be>, tensor<5x70xf32, #be>) -> tensor<5x70xf32, #be>
  %g = ptl.elementwise gelu %u : (tensor<5x70xf32, #be>) -> tensor<5x70xf32, #be>
  // Folds within rows, over rows and over everything.
  %m = ptl.reduce max %g over [embed] : tensor<5x70xf32, #be> -> tensor<5xf32, #b>
  %c = ptl.reduce sum %g over [batch] : tensor<5x70xf32, #be> -> tensor<70xf32, #e>
  %s = ptl.reduce sum %g over [batch, embed] : tensor<5x70xf32, #be> -> tensor<f32>
  %d = ptl.elementwise gelu_grad %u, %g : (tensor<5x70xf32, #be>, tensor<5x70xf32, #be>) -> tensor<5x70xf32, #be>
  %k = ptl.elementwise lt %u, %g : (tensor<5x70xf32, #be>, tensor<5x70xf32, #be>) -> tensor<5x70xi1, #be>
  %three = ptl.constant 3 : tensor<5xi32, #b>
  %q = ptl.elementwise mod %t, %three : (tensor<5xi32, #b>, tensor<5xi32, #b>) -> tensor<5xi32, #b>
  %z = ptl.elementwise select %k, %u, %d : (tensor<5x70xi1, #be>, tensor<5x70xf32, #be>, tensor<5x70xf32, #be>) -> tensor<5x70xf32, #be>
  return %u, %g, %m, %c, %s, %d, %k, %q, %z : tensor<5x70xf32, #be>, tensor<5x70xf32, #be>, tensor<5xf32, #b>, tensor<70xf32, #e>, tensor<f32>,
        tensor<5x70xf32, #be>, tensor<5x70xi1, #be>, tensor<5xi32, #b>, tensor<5x70xf32, #be>
}
