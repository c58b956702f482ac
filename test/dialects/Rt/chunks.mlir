// RUN: ptl-opt %s --split-input-file --verify-diagnostics | ptl-opt --split-input-file | FileCheck %s

#be = #ptl.dims<[batch, embed]>
#e = #ptl.dims<[embed]>

// CHECK-LABEL: func @chunks
func.func @chunks(%x: tensor<4x3xf32, #be>) -> (tensor<4x3xf32, #be>, tensor<2x3xf32, #ptl.dims<[other, embed]>>) {
  // CHECK: %[[R:.*]]:2 = rt.chunks 2 along batch (%[[K:.*]]) -> tensor<4x3xf32, {{.*}}>, tensor<2x3xf32, {{.*}}> attributes {rt.accumulate = array<i1: false, true>} {
  %r:2 = rt.chunks 2 along batch (%k) -> tensor<4x3xf32, #be>, tensor<2x3xf32, #ptl.dims<[other, embed]>> attributes {rt.accumulate = array<i1: false, true>} {
    // CHECK: ptl.microbatch %arg0[%[[K]]] of 2 along batch
    // CHECK: rt.return
    %p = ptl.microbatch %x[%k] of 2 along batch : tensor<4x3xf32, #be> -> tensor<2x3xf32, #be>
    %c = ptl.constant 1 : tensor<2x3xf32, #ptl.dims<[other, embed]>>
    rt.return %p, %c : tensor<2x3xf32, #be>, tensor<2x3xf32, #ptl.dims<[other, embed]>>
  }
  return %r#0, %r#1 : tensor<4x3xf32, #be>, tensor<2x3xf32, #ptl.dims<[other, embed]>>
}

// -----

func.func @chunks_c1() {
  // expected-error @below {{needs at least one piece, found 0}}
  rt.chunks 0 along batch (%k) {
    rt.return
  }
  return
}

// -----

func.func @chunks_c2() {
  // expected-error @below {{the body needs one argument of type index}}
  "rt.chunks"() <{pieces = 2 : i64, dim = "batch"}> ({
    "rt.return"() : () -> ()
  }) : () -> ()
  return
}

// -----

#be = #ptl.dims<[batch, embed]>
func.func @chunks_size(%x: tensor<2x3xf32, #be>) {
  // expected-error @below {{can't cut 5 of 'batch' into 2 equal pieces}}
  %r = rt.chunks 2 along batch (%k) -> tensor<5x3xf32, #be> {
    rt.return %x : tensor<2x3xf32, #be>
  }
  return
}

// -----

#eb = #ptl.dims<[embed, batch]>
func.func @chunks_inner(%x: tensor<3x2xf32, #eb>) {
  // expected-error @below {{'batch' must be the first dimension of result 0}}
  %r = rt.chunks 2 along batch (%k) -> tensor<3x4xf32, #eb> {
    rt.return %x : tensor<3x2xf32, #eb>
  }
  return
}

// -----

#be = #ptl.dims<[batch, embed]>
func.func @chunks_c3(%x: tensor<4x3xf32, #be>) {
  // expected-error @below {{the body must return 'tensor<2x3xf32, #ptl.dims<[batch, embed]>>' as value 0}}
  %r = rt.chunks 2 along batch (%k) -> tensor<4x3xf32, #be> {
    rt.return %x : tensor<4x3xf32, #be>
  }
  return
}

// -----

#be = #ptl.dims<[batch, embed]>
func.func @chunks_count() {
  // expected-error @below {{the body must return as many values as there are results}}
  %r = rt.chunks 2 along batch (%k) -> tensor<4x3xf32, #be> {
    rt.return
  }
  return
}
