// RUN: ptl-native %s --passes=fuse-expand-rows,cse,fuse-rows,fuse-outline-single,memory-plan-buffers | FileCheck %s
// CHECK: 5 of 5 results agree

// What GPU code may get wrong although the CPU's is right; emulated.test runs it.
#bf = #ptl.dims<[batch, features]>
#fv = #ptl.dims<[features, vocab]>
#bv = #ptl.dims<[batch, vocab]>
#n = #ptl.dims<[n]>
#b = #ptl.dims<[batch]>

func.func @logits(%a: tensor<2x3xf32, #bf>, %w: tensor<3x30001xf32, #fv>)
    -> (tensor<2x30001xf32, #bv>, tensor<2x30001xf32, #bv>, tensor<400xf32, #n>, tensor<400xf32, #n>, tensor<400xf32, #n>) {
  // The exponential may not lie over what it is made from: it is computed again for the quotient.
  %x = ptl.dot %a, %w over [features] : (tensor<2x3xf32, #bf>, tensor<3x30001xf32, #fv>) -> tensor<2x30001xf32, #bv>
  %e = ptl.elementwise exp %x : (tensor<2x30001xf32, #bv>) -> tensor<2x30001xf32, #bv>
  %s = ptl.reduce sum %e over [vocab] : tensor<2x30001xf32, #bv> -> tensor<2xf32, #b>
  %sb = ptl.broadcast %s : tensor<2xf32, #b> -> tensor<2x30001xf32, #bv>
  %p = ptl.elementwise div %e, %sb : (tensor<2x30001xf32, #bv>, tensor<2x30001xf32, #bv>) -> tensor<2x30001xf32, #bv>
  // Quotients that rounding takes to another whole number, of both signs.
  %i = ptl.iota n : tensor<400xi32, #n>
  %shift = ptl.constant 200 : tensor<400xi32, #n>
  %c = ptl.elementwise sub %i, %shift : (tensor<400xi32, #n>, tensor<400xi32, #n>) -> tensor<400xi32, #n>
  %f = ptl.elementwise cast %c : (tensor<400xi32, #n>) -> tensor<400xf32, #n>
  %y41 = ptl.constant 41.0 : tensor<400xf32, #n>
  %y47 = ptl.constant 47.0 : tensor<400xf32, #n>
  %below = ptl.constant -47.0 : tensor<400xf32, #n>
  %m41 = ptl.elementwise mod %f, %y41 : (tensor<400xf32, #n>, tensor<400xf32, #n>) -> tensor<400xf32, #n>
  %m47 = ptl.elementwise mod %f, %y47 : (tensor<400xf32, #n>, tensor<400xf32, #n>) -> tensor<400xf32, #n>
  %mBelow = ptl.elementwise mod %f, %below : (tensor<400xf32, #n>, tensor<400xf32, #n>) -> tensor<400xf32, #n>
  return %e, %p, %m41, %m47, %mBelow : tensor<2x30001xf32, #bv>, tensor<2x30001xf32, #bv>, tensor<400xf32, #n>, tensor<400xf32, #n>, tensor<400xf32, #n>
}
