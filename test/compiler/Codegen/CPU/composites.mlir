// RUN: ptl-native %s --tolerance 3e-6 | FileCheck %s
// RUN: ptl-native %s --tolerance 3e-6 --passes=fuse-expand-rows,cse,fuse-rows,fuse-outline-single,memory-plan-buffers | FileCheck %s
// CHECK: 11 of 11 results agree

#be = #ptl.dims<[batch, embed]>
#b = #ptl.dims<[batch]>
#bsh = #ptl.dims<[batch, seq, hdim]>
#bk = #ptl.dims<[batch, k]>

func.func @logits(%x: tensor<5x70xf32, #be>, %dy: tensor<5x70xf32, #be>, %t: tensor<5xi32, #b>, %dl: tensor<5xf32, #b>, %q: tensor<2x6x8xf32, #bsh>)
    -> (tensor<5x70xf32, #be>, tensor<5x70xf32, #be>, tensor<5x70xf32, #be>, tensor<5x70xf32, #be>, tensor<5x70xf32, #be>, tensor<5xf32, #b>, tensor<5x70xf32, #be>,
        tensor<5xi32, #b>, tensor<2x6x8xf32, #bsh>, tensor<5x3xf32, #bk>, tensor<5x3xi32, #bk>) {
  %p = ptl.softmax %x over embed : tensor<5x70xf32, #be> -> tensor<5x70xf32, #be>
  %dp = ptl.softmax_grad %p, %dy over embed : (tensor<5x70xf32, #be>, tensor<5x70xf32, #be>) -> tensor<5x70xf32, #be>
  %n, %mean, %rstd = ptl.layer_norm %x over embed eps 1.0e-05 : (tensor<5x70xf32, #be>) -> (tensor<5x70xf32, #be>, tensor<5xf32, #b>, tensor<5xf32, #b>)
  %dn = ptl.layer_norm_grad %dy, %x, %mean, %rstd over embed : (tensor<5x70xf32, #be>, tensor<5x70xf32, #be>, tensor<5xf32, #b>, tensor<5xf32, #b>) -> tensor<5x70xf32, #be>
  %r, %rrstd = ptl.rms_norm %x over embed eps 1.0e-05 : (tensor<5x70xf32, #be>) -> (tensor<5x70xf32, #be>, tensor<5xf32, #b>)
  %loss, %lse = ptl.cross_entropy %x, %t over embed : (tensor<5x70xf32, #be>, tensor<5xi32, #b>) -> (tensor<5xf32, #b>, tensor<5xf32, #b>)
  %dx = ptl.cross_entropy_grad %dl, %x, %t, %lse over embed : (tensor<5xf32, #b>, tensor<5x70xf32, #be>, tensor<5xi32, #b>, tensor<5xf32, #b>) -> tensor<5x70xf32, #be>
  %arg = ptl.argmax %x over embed : tensor<5x70xf32, #be> -> tensor<5xi32, #b>
  %rope = ptl.rope %q over hdim along seq theta 10000.0 : tensor<2x6x8xf32, #bsh> -> tensor<2x6x8xf32, #bsh>
  %v, %i = ptl.top_k %x embed -> k : tensor<5x70xf32, #be> -> (tensor<5x3xf32, #bk>, tensor<5x3xi32, #bk>)
  return %p, %dp, %n, %dn, %r, %loss, %dx, %arg, %rope, %v, %i : tensor<5x70xf32, #be>, tensor<5x70xf32, #be>, tensor<5x70xf32, #be>, tensor<5x70xf32, #be>, tensor<5x70xf32, #be>, tensor<5xf32, #b>, tensor<5x70xf32, #be>,
        tensor<5xi32, #b>, tensor<2x6x8xf32, #bsh>, tensor<5x3xf32, #bk>, tensor<5x3xi32, #bk>
}
