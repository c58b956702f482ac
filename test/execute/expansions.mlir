// Every composite operation, and every gradient of one, computes what its expansion does.
// RUN: ptl-opt --ptl-expand-composites %s -o %t.mlir
// RUN: FileCheck %s --check-prefix=GONE --input-file %t.mlir
// RUN: ptl-run --compare --all %s %t.mlir | FileCheck %s
// RUN: ptl-run --compare --all --f64 %s %t.mlir | FileCheck %s
// GONE-NOT: ptl.{{softmax|log_softmax|layer_norm|rms_norm|cross_entropy|attention|rope|argmax}}

#sd = #ptl.dims<[s, d]>
#ds = #ptl.dims<[d, s]>
#s = #ptl.dims<[s]>
#bshd = #ptl.dims<[b, s, h, d]>
#bsgd = #ptl.dims<[b, s, g, d]>
#bsh = #ptl.dims<[b, s, h]>
#bkhd = #ptl.dims<[b, k, h, d]>
#kd = #ptl.dims<[k, d]>
#sk = #ptl.dims<[s, k]>
!sd = tensor<3x4xf32, #sd>
!s = tensor<3xf32, #s>
!q = tensor<2x5x4x6xf32, #bshd>
!kv = tensor<2x5x2x6xf32, #bsgd>
!lse = tensor<2x5x4xf32, #bsh>

// CHECK: @softmax equal: 4 compared
func.func @softmax(%x: !sd, %dy: !sd) -> (!sd, !sd, !sd, !sd) {
  %0 = ptl.softmax %x over d : !sd -> !sd
  %1 = ptl.softmax_grad %0, %dy over d : (!sd, !sd) -> !sd
  %2 = ptl.log_softmax %x over s : !sd -> !sd
  %3 = ptl.log_softmax_grad %2, %dy over s : (!sd, !sd) -> !sd
  return %0, %1, %2, %3 : !sd, !sd, !sd, !sd
}

// CHECK: @norms equal: 7 compared
func.func @norms(%x: !sd, %dy: !sd) -> (!sd, !s, !s, !sd, !sd, !s, !sd) {
  %y, %mean, %rstd = ptl.layer_norm %x over d eps 1.0e-05 : (!sd) -> (!sd, !s, !s)
  %dx = ptl.layer_norm_grad %dy, %x, %mean, %rstd over d : (!sd, !sd, !s, !s) -> !sd
  %z, %zr = ptl.rms_norm %x over d eps 1.0e-02 : (!sd) -> (!sd, !s)
  %dz = ptl.rms_norm_grad %dy, %x, %zr over d : (!sd, !sd, !s) -> !sd
  return %y, %mean, %rstd, %dx, %z, %zr, %dz : !sd, !s, !s, !sd, !sd, !s, !sd
}

// With and without targets that are ignored (two of three are 1 or 2), in another order of dimensions.
// CHECK: @cross_entropy equal: 6 compared
func.func @cross_entropy(%x: tensor<4x3xf32, #ds>, %t: tensor<3xi32, #s>, %dy: !s)
    -> (!s, !s, tensor<4x3xf32, #ds>, !s, !s, tensor<4x3xf32, #ds>) {
  %0, %1 = ptl.cross_entropy %x, %t over d : (tensor<4x3xf32, #ds>, tensor<3xi32, #s>) -> (!s, !s)
  %2 = ptl.cross_entropy_grad %dy, %x, %t, %1 over d : (!s, tensor<4x3xf32, #ds>, tensor<3xi32, #s>, !s) -> tensor<4x3xf32, #ds>
  %n = ptl.constant -100.0 : tensor<3xi32, #s>
  %one = ptl.constant 1.0 : tensor<3xi32, #s>
  %c = ptl.elementwise eq %t, %one : (tensor<3xi32, #s>, tensor<3xi32, #s>) -> tensor<3xi1, #s>
  %u = ptl.elementwise select %c, %n, %t : (tensor<3xi1, #s>, tensor<3xi32, #s>, tensor<3xi32, #s>) -> tensor<3xi32, #s>
  %3, %4 = ptl.cross_entropy %x, %u over d ignore -100 : (tensor<4x3xf32, #ds>, tensor<3xi32, #s>) -> (!s, !s)
  %5 = ptl.cross_entropy_grad %dy, %x, %u, %4 over d ignore -100 : (!s, tensor<4x3xf32, #ds>, tensor<3xi32, #s>, !s) -> tensor<4x3xf32, #ds>
  return %0, %1, %2, %3, %4, %5 : !s, !s, tensor<4x3xf32, #ds>, !s, !s, tensor<4x3xf32, #ds>
}

// Self-attention: grouped heads, causal, a window.
// CHECK: @self_attention equal: 5 compared
func.func @self_attention(%q: !q, %k: !kv, %v: !kv, %dy: !q) -> (!q, !lse, !q, !kv, !kv) {
  %y, %lse = ptl.attention %q, %k, %v over s depth d -> d scale 0.3 group [h] -> [g] causal window 3 : (!q, !kv, !kv) -> (!q, !lse)
  %dq, %dk, %dv = ptl.attention_grad %dy, %q, %k, %v, %y, %lse over s depth d -> d scale 0.3 group [h] -> [g] causal window 3
    : (!q, !q, !kv, !kv, !q, !lse) -> (!q, !kv, !kv)
  return %y, %lse, %dq, %dk, %dv : !q, !lse, !q, !kv, !kv
}

// Keys along a dimension of their own, no batch in them, a value depth of its own, and a mask.
// CHECK: @cross_attention equal: 5 compared
func.func @cross_attention(%q: !q, %k: tensor<3x6xf32, #kd>, %v: tensor<3x2xf32, #ptl.dims<[k, e]>>, %n: tensor<5x3xi32, #sk>,
                           %dy: tensor<2x5x4x2xf32, #ptl.dims<[b, s, h, e]>>)
    -> (tensor<2x5x4x2xf32, #ptl.dims<[b, s, h, e]>>, !lse, !q, tensor<3x6xf32, #kd>, tensor<3x2xf32, #ptl.dims<[k, e]>>) {
  // The first key is always seen.
  %i = ptl.iota k : tensor<3xi32, #ptl.dims<[k]>>
  %j = ptl.broadcast %i : tensor<3xi32, #ptl.dims<[k]>> -> tensor<5x3xi32, #sk>
  %m = ptl.elementwise le %j, %n : (tensor<5x3xi32, #sk>, tensor<5x3xi32, #sk>) -> tensor<5x3xi1, #sk>
  %y, %lse = ptl.attention %q, %k, %v mask %m over k depth d -> e scale 0.3
    : (!q, tensor<3x6xf32, #kd>, tensor<3x2xf32, #ptl.dims<[k, e]>>, tensor<5x3xi1, #sk>) -> (tensor<2x5x4x2xf32, #ptl.dims<[b, s, h, e]>>, !lse)
  %dq, %dk, %dv = ptl.attention_grad %dy, %q, %k, %v, %y, %lse mask %m over k depth d -> e scale 0.3
    : (tensor<2x5x4x2xf32, #ptl.dims<[b, s, h, e]>>, !q, tensor<3x6xf32, #kd>, tensor<3x2xf32, #ptl.dims<[k, e]>>,
       tensor<2x5x4x2xf32, #ptl.dims<[b, s, h, e]>>, !lse, tensor<5x3xi1, #sk>) -> (!q, tensor<3x6xf32, #kd>, tensor<3x2xf32, #ptl.dims<[k, e]>>)
  return %y, %lse, %dq, %dk, %dv
    : tensor<2x5x4x2xf32, #ptl.dims<[b, s, h, e]>>, !lse, !q, tensor<3x6xf32, #kd>, tensor<3x2xf32, #ptl.dims<[k, e]>>
}

// A mask of self-attention calls the queries "s.query".
// CHECK: @masked_self_attention equal: 2 compared
func.func @masked_self_attention(%q: !q, %k: !q, %v: !q, %n: tensor<5x5xi32, #ptl.dims<["s.query", s]>>) -> (!q, !lse) {
  %i = ptl.iota s : tensor<5xi32, #s>
  %j = ptl.broadcast %i : tensor<5xi32, #s> -> tensor<5x5xi32, #ptl.dims<["s.query", s]>>
  %m = ptl.elementwise le %j, %n : (tensor<5x5xi32, #ptl.dims<["s.query", s]>>, tensor<5x5xi32, #ptl.dims<["s.query", s]>>) -> tensor<5x5xi1, #ptl.dims<["s.query", s]>>
  %y, %lse = ptl.attention %q, %k, %v mask %m over s depth d -> d scale 0.3
    : (!q, !q, !q, tensor<5x5xi1, #ptl.dims<["s.query", s]>>) -> (!q, !lse)
  return %y, %lse : !q, !lse
}

// CHECK: @rope equal: 2 compared
func.func @rope(%x: !q) -> (!q, !q) {
  %0 = ptl.rope %x over d along s theta 100.0 : !q -> !q
  %1 = ptl.rope %x over h along b theta 10000.0 inverse : !q -> !q
  return %0, %1 : !q, !q
}

// The lowest index of equal elements: floor makes many.
// CHECK: @argmax equal: 1 compared
func.func @argmax(%x: !q) -> tensor<2x5x4xi32, #bsh> {
  %c = ptl.constant 2.0 : !q
  %0 = ptl.elementwise mul %x, %c : (!q, !q) -> !q
  %1 = ptl.elementwise floor %0 : (!q) -> !q
  %2 = ptl.argmax %1 over d : !q -> tensor<2x5x4xi32, #bsh>
  return %2 : tensor<2x5x4xi32, #bsh>
}
