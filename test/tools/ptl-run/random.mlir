// RUN: ptl-run --all --f64 --seed 5 %s | FileCheck %s
// Philox keyed by seed and place, counted by index and step; the numbers come from another implementation.

#x = #ptl.dims<[x]>

// CHECK-LABEL: @random
// CHECK-NEXT: value 0: [x=6] 0.446129799 0.0785749555 0.262190223 0.282578528 0.830241799 0.757435381
// CHECK-NEXT: value 1: [x=6] 1.11882489 0.602097473 -0.332604894 1.60210599 0.0284866923 -0.609315158
func.func @random(%step: tensor<i64> {run.value = [3]}) -> (tensor<6xf32, #x>, tensor<6xf32, #x>) {
  %0 = ptl.random uniform place "blocks.0#1" step %step : tensor<i64> -> tensor<6xf32, #x>
  %1 = ptl.random normal place "blocks.0#1" step %step : tensor<i64> -> tensor<6xf32, #x>
  return %0, %1 : tensor<6xf32, #x>, tensor<6xf32, #x>
}

// Initial values are numbers of step 0 under the weight's path; element 7 of w2 is beyond two deviations and
// drawn again, with step 1.
// CHECK-LABEL: @initial
// CHECK-NEXT: value 0: [x=4] -0.0158683466 0.0379062817 0.0101390286 0.0283014305
// CHECK-NEXT: value 1: [x=8] 0.67811004 0.285272143 0.507788645 0.389074589 0.911647103 -0.400458101 -0.250156076 -0.69544062
// CHECK-NEXT: value 2: [x=2] 1.5 1.5
// CHECK-NEXT: value 3: [x=2] 1 1
// CHECK-NEXT: value 4: [x=2] 0 0
func.func @initial(
    %a: tensor<4xf32, #x> {ptl.role = "weight", ptl.path = "wte", ptl.init = {kind = "normal", a = 0.02, b = 0.0}},
    %b: tensor<8xf32, #x> {ptl.role = "weight", ptl.path = "w2", ptl.init = {kind = "trunc_normal", a = 1.0, b = 0.0}},
    %c: tensor<2xf32, #x> {ptl.role = "weight", ptl.path = "c", ptl.init = {kind = "constant", a = 1.5, b = 0.0}},
    %d: tensor<2xf32, #x> {ptl.role = "weight", ptl.path = "d", ptl.init = {kind = "ones", a = 0.0, b = 0.0}},
    %e: tensor<2xf32, #x> {ptl.role = "weight", ptl.path = "e", ptl.init = {kind = "zeros", a = 0.0, b = 0.0}})
    -> (tensor<4xf32, #x>, tensor<8xf32, #x>, tensor<2xf32, #x>, tensor<2xf32, #x>, tensor<2xf32, #x>) {
  return %a, %b, %c, %d, %e : tensor<4xf32, #x>, tensor<8xf32, #x>, tensor<2xf32, #x>, tensor<2xf32, #x>, tensor<2xf32, #x>
}
