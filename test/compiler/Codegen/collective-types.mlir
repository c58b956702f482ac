// RUN: not ptl-native %s 2>&1 | FileCheck %s

#x = #ptl.dims<[x]>
spmd.mesh @mesh [a = 1]

// What the runtime reduces in one call has one type.
// CHECK: error: one collective can't reduce several element types
func.func @step(%x: tensor<3xf32, #x> {ptl.role = "data", ptl.path = "x"}, %n: tensor<3xi32, #x> {ptl.role = "data", ptl.path = "n"})
    -> (tensor<3xf32, #x> {ptl.role = "loss"}, tensor<3xi32, #x> {ptl.role = "metric", ptl.path = "n"}) {
  %0:2 = spmd.all_reduce sum %x, %n over @mesh [a] : tensor<3xf32, #x>, tensor<3xi32, #x> -> tensor<3xf32, #x>, tensor<3xi32, #x>
  return %0#0, %0#1 : tensor<3xf32, #x>, tensor<3xi32, #x>
}
