// RUN: ptl-opt %s | ptl-opt | FileCheck %s

!p = tensor<19xf32, #ptl.dims<[part]>>
!v = tensor<8xf32, #ptl.dims<[ffn]>>
!x = tensor<6xf32, #ptl.dims<[embed]>>
spmd.mesh @mesh [dp = 2]
// CHECK-LABEL: func @started
func.func @started(%p: !p, %x: !x) -> (!v, !x) {
  // CHECK: %[[V:.*]]:2 = spmd.bucket_all_gather %[[P:.*]] over @mesh [dp] {rt.started}
  %v:2 = spmd.bucket_all_gather %p over @mesh [dp] {rt.started} : !p -> !v, !x
  // CHECK: rt.wait %[[V]]#0, %[[V]]#1 keeps %[[P]] : tensor<19xf32
  %w:2 = rt.wait %v#0, %v#1 keeps %p : !p : !v, !x -> !v, !x
  // CHECK: %[[R:.*]] = spmd.all_reduce sum %{{.*}} over @mesh [dp] {rt.started}
  %r = spmd.all_reduce sum %x over @mesh [dp] {rt.started} : !x -> !x
  // CHECK: rt.wait %[[R]] : tensor<6xf32
  %s = rt.wait %r : !x -> !x
  return %w#0, %s : !v, !x
}
