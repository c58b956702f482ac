// RUN: ptl-opt %s --ptl-expand-composites | FileCheck %s
// RUN: ptl-opt %s --ptl-expand-composites="only=ptl.rms_norm" | FileCheck %s --check-prefix=ONLY

// The maximum is behind a stop_gradient: derivatives of expansions don't see it.
// CHECK-LABEL: func @softmax
// CHECK:         %[[M:.*]] = ptl.reduce max %[[X:.*]] over [key]
// CHECK:         %[[S:.*]] = ptl.stop_gradient %[[M]]
// CHECK:         %[[B:.*]] = ptl.broadcast %[[S]]
// CHECK:         ptl.elementwise sub %[[X]], %[[B]]
// CHECK:         %[[E:.*]] = ptl.elementwise exp
// CHECK:         %[[T:.*]] = ptl.reduce sum %[[E]] over [key]
// CHECK:         ptl.elementwise recip %[[T]]
// CHECK:         ptl.elementwise mul %[[E]]
// CHECK-NOT:     ptl.softmax
// ONLY-LABEL: func @softmax
// ONLY:         ptl.softmax
func.func @softmax(%x: tensor<4x8xf32, #ptl.dims<[seq, key]>>) -> tensor<4x8xf32, #ptl.dims<[seq, key]>> {
  %y = ptl.softmax %x over key : tensor<4x8xf32, #ptl.dims<[seq, key]>> -> tensor<4x8xf32, #ptl.dims<[seq, key]>>
  return %y : tensor<4x8xf32, #ptl.dims<[seq, key]>>
}

// The mean is a product with 1/8; both results come from the expansion.
// CHECK-LABEL: func @rms_norm
// CHECK:         ptl.constant 0.125
// CHECK:         %[[R:.*]] = ptl.elementwise rsqrt
// CHECK:         %[[Y:.*]] = ptl.elementwise mul
// CHECK:         return %[[Y]], %[[R]]
// ONLY-LABEL: func @rms_norm
// ONLY-NOT:     ptl.rms_norm
func.func @rms_norm(%x: tensor<4x8xf32, #ptl.dims<[seq, key]>>) -> (tensor<4x8xf32, #ptl.dims<[seq, key]>>, tensor<4xf32, #ptl.dims<[seq]>>) {
  %y, %r = ptl.rms_norm %x over key eps 0.001 : (tensor<4x8xf32, #ptl.dims<[seq, key]>>) -> (tensor<4x8xf32, #ptl.dims<[seq, key]>>, tensor<4xf32, #ptl.dims<[seq]>>)
  return %y, %r : tensor<4x8xf32, #ptl.dims<[seq, key]>>, tensor<4xf32, #ptl.dims<[seq]>>
}

// Keys get a name of their own, heads are split by key heads, masks compare global positions.
// CHECK-LABEL: func @attention
// CHECK:         %[[Q:.*]] = ptl.reshape %{{.*}} {{\[\[}}heads] -> [kv, "heads.group"]]
// CHECK:         %[[K:.*]] = ptl.reshape %{{.*}} {{\[\[}}seq] -> ["seq.key"]]
// CHECK:         ptl.dot %[[Q]], %[[K]] over [hdim]{{.*}} -> tensor<4x2x2x4xf32, #ptl.dims<[seq, kv, "heads.group", "seq.key"]>>
// CHECK:         ptl.iota "seq.key"
// CHECK:         ptl.iota seq
// CHECK:         ptl.elementwise le
// CHECK:         ptl.elementwise select
// CHECK:         ptl.dot %{{.*}}, %{{.*}} over ["seq.key"]
// CHECK:         ptl.reshape %{{.*}} {{\[\[}}kv, "heads.group"] -> [heads]]
func.func @attention(%q: tensor<4x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, %k: tensor<4x2x8xf32, #ptl.dims<[seq, kv, hdim]>>) -> tensor<4x4x8xf32, #ptl.dims<[seq, heads, hdim]>> {
  %y, %l = ptl.attention %q, %k, %k over seq depth hdim -> hdim scale 0.5 group [heads] -> [kv] causal : (tensor<4x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<4x2x8xf32, #ptl.dims<[seq, kv, hdim]>>, tensor<4x2x8xf32, #ptl.dims<[seq, kv, hdim]>>) -> (tensor<4x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<4x4xf32, #ptl.dims<[seq, heads]>>)
  return %y : tensor<4x4x8xf32, #ptl.dims<[seq, heads, hdim]>>
}
