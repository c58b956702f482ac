// RUN: ptl-opt %s --comm-combine-all-reduces | FileCheck %s

!s = tensor<f32>
!d = tensor<12xi64, #ptl.dims<[digits]>>

// Ranks along pp run other programs, so what they reduce with each other is neither moved nor merged; over dp it is.
// CHECK-LABEL: func @step
// CHECK:         %[[A:.*]] = ptl.elementwise exp
// CHECK-NEXT:    %[[B:.*]] = ptl.elementwise neg
// CHECK-NEXT:    spmd.all_reduce sum %[[A]], %[[B]] over @mesh [dp]
// CHECK-NEXT:    spmd.all_reduce sum %{{.*}} over @mesh [pp] {{.*}}tensor<12xi64
// CHECK-NEXT:    spmd.all_reduce sum %[[A]] over @mesh [pp]
// CHECK-NEXT:    spmd.all_reduce sum %[[B]] over @mesh [pp]
module attributes {rt.pipe_rank = 0 : i64, ptl.plan = {mesh = [{name = "dp", size = 2 : i64}, {name = "pp", size = 2 : i64}],
    pipeline = {axis = "pp"}}} {
  spmd.mesh @mesh [dp = 2, pp = 2]
  func.func @step(%x: !s, %digits: !d) -> (!s, !s, !s, !s, !d) {
    %a = ptl.elementwise exp %x : (!s) -> !s
    %b = ptl.elementwise neg %x : (!s) -> !s
    %n = spmd.all_reduce sum %digits over @mesh [pp] : !d -> !d
    %0 = spmd.all_reduce sum %a over @mesh [pp] : !s -> !s
    %1 = spmd.all_reduce sum %a over @mesh [dp] : !s -> !s
    %2 = spmd.all_reduce sum %b over @mesh [pp] : !s -> !s
    %3 = spmd.all_reduce sum %b over @mesh [dp] : !s -> !s
    return %0, %1, %2, %3, %n : !s, !s, !s, !s, !d
  }
}
