// RUN: split-file %s %t
// RUN: ptl-run --compare %t/whole.mlir %t/cut.mlir | FileCheck %s --check-prefix=SAME
// RUN: ptl-run --compare --f64 %t/whole.mlir %t/cut.mlir | FileCheck %s --check-prefix=SAME
// RUN: not ptl-run --compare %t/whole.mlir %t/unmasked.mlir | FileCheck %s --check-prefix=JUNK
// RUN: not ptl-run --compare %t/whole.mlir %t/wrong.mlir | FileCheck %s --check-prefix=WRONG
// RUN: not ptl-run --compare %t/whole.mlir %t/replicas.mlir 2>&1 | FileCheck %s --check-prefix=REPLICAS

// A loss before and after it was cut for three ranks: 4 rows lie 2, 2, 0.
// SAME: equal: 2 compared, 0 failed
// A fold that forgets the mask: padding is junk.
// JUNK: loss: differs by inf of {{.*}} and nan
// JUNK: DIFFERENT: 2 compared, 1 failed
// A mean by the local count.
// WRONG: loss: differs by
// WRONG: DIFFERENT: 2 compared, 1 failed
// A sum that some ranks lack.
// REPLICAS: error: result loss: replicas differ: element 0 of [] is

//--- whole.mlir
#b = #ptl.dims<[batch]>
#v = #ptl.dims<[v]>
func.func @loss(%w: tensor<3xf32, #v> {ptl.role = "weight", ptl.path = "w"}, %i: tensor<4xi32, #b> {ptl.role = "data", ptl.path = "i"})
    -> (tensor<f32> {ptl.role = "loss"}, tensor<4xf32, #b> {ptl.role = "metric", ptl.path = "rows"}) {
  %r = ptl.gather %w[v : %i] : (tensor<3xf32, #v>, tensor<4xi32, #b>) -> tensor<4xf32, #b>
  %s = ptl.reduce sum %r over [batch] : tensor<4xf32, #b> -> tensor<f32>
  %c = ptl.constant 0.25 : tensor<f32>
  %l = ptl.elementwise mul %s, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %l, %r : tensor<f32>, tensor<4xf32, #b>
}
//--- cut.mlir
#b = #ptl.dims<[batch]>
#v = #ptl.dims<[v]>
spmd.mesh @mesh [dp = 3]
func.func @loss(%w: tensor<3xf32, #v> {ptl.role = "weight", ptl.path = "w"},
                %i: tensor<2xi32, #b> {ptl.role = "data", ptl.path = "i", spmd.global_type = tensor<4xi32, #b>, spmd.sharding = #spmd.sharding<[[dp]]>})
    -> (tensor<f32> {ptl.role = "loss"},
        tensor<2xf32, #b> {ptl.role = "metric", ptl.path = "rows", spmd.global_type = tensor<4xf32, #b>, spmd.sharding = #spmd.sharding<[[dp]]>}) {
  %r = ptl.gather %w[v : %i] : (tensor<3xf32, #v>, tensor<2xi32, #b>) -> tensor<2xf32, #b>
  %m = spmd.mask %r fill 0 cuts <[batch global 4 axes [dp]]> on @mesh : tensor<2xf32, #b> -> tensor<2xf32, #b>
  %s = ptl.reduce sum %m over [batch] : tensor<2xf32, #b> -> tensor<f32>
  %a = spmd.all_reduce sum %s over @mesh [dp] : tensor<f32> -> tensor<f32>
  %c = ptl.constant 0.25 : tensor<f32>
  %l = ptl.elementwise mul %a, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %l, %r : tensor<f32>, tensor<2xf32, #b>
}
//--- unmasked.mlir
#b = #ptl.dims<[batch]>
#v = #ptl.dims<[v]>
spmd.mesh @mesh [dp = 3]
func.func @loss(%w: tensor<3xf32, #v> {ptl.role = "weight", ptl.path = "w"},
                %i: tensor<2xi32, #b> {ptl.role = "data", ptl.path = "i", spmd.global_type = tensor<4xi32, #b>, spmd.sharding = #spmd.sharding<[[dp]]>})
    -> (tensor<f32> {ptl.role = "loss"},
        tensor<2xf32, #b> {ptl.role = "metric", ptl.path = "rows", spmd.global_type = tensor<4xf32, #b>, spmd.sharding = #spmd.sharding<[[dp]]>}) {
  %r = ptl.gather %w[v : %i] : (tensor<3xf32, #v>, tensor<2xi32, #b>) -> tensor<2xf32, #b>
  %s = ptl.reduce sum %r over [batch] : tensor<2xf32, #b> -> tensor<f32>
  %a = spmd.all_reduce sum %s over @mesh [dp] : tensor<f32> -> tensor<f32>
  %c = ptl.constant 0.25 : tensor<f32>
  %l = ptl.elementwise mul %a, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %l, %r : tensor<f32>, tensor<2xf32, #b>
}
//--- wrong.mlir
#b = #ptl.dims<[batch]>
#v = #ptl.dims<[v]>
spmd.mesh @mesh [dp = 3]
func.func @loss(%w: tensor<3xf32, #v> {ptl.role = "weight", ptl.path = "w"},
                %i: tensor<2xi32, #b> {ptl.role = "data", ptl.path = "i", spmd.global_type = tensor<4xi32, #b>, spmd.sharding = #spmd.sharding<[[dp]]>})
    -> (tensor<f32> {ptl.role = "loss"},
        tensor<2xf32, #b> {ptl.role = "metric", ptl.path = "rows", spmd.global_type = tensor<4xf32, #b>, spmd.sharding = #spmd.sharding<[[dp]]>}) {
  %r = ptl.gather %w[v : %i] : (tensor<3xf32, #v>, tensor<2xi32, #b>) -> tensor<2xf32, #b>
  %m = spmd.mask %r fill 0 cuts <[batch global 4 axes [dp]]> on @mesh : tensor<2xf32, #b> -> tensor<2xf32, #b>
  %s = ptl.reduce sum %m over [batch] : tensor<2xf32, #b> -> tensor<f32>
  %a = spmd.all_reduce sum %s over @mesh [dp] : tensor<f32> -> tensor<f32>
  %c = ptl.constant 0.5 : tensor<f32>
  %l = ptl.elementwise mul %a, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %l, %r : tensor<f32>, tensor<2xf32, #b>
}
//--- replicas.mlir
#b = #ptl.dims<[batch]>
#v = #ptl.dims<[v]>
spmd.mesh @mesh [dp = 3]
func.func @loss(%w: tensor<3xf32, #v> {ptl.role = "weight", ptl.path = "w"},
                %i: tensor<2xi32, #b> {ptl.role = "data", ptl.path = "i", spmd.global_type = tensor<4xi32, #b>, spmd.sharding = #spmd.sharding<[[dp]]>})
    -> (tensor<f32> {ptl.role = "loss"},
        tensor<2xf32, #b> {ptl.role = "metric", ptl.path = "rows", spmd.global_type = tensor<4xf32, #b>, spmd.sharding = #spmd.sharding<[[dp]]>}) {
  %r = ptl.gather %w[v : %i] : (tensor<3xf32, #v>, tensor<2xi32, #b>) -> tensor<2xf32, #b>
  %m = spmd.mask %r fill 0 cuts <[batch global 4 axes [dp]]> on @mesh : tensor<2xf32, #b> -> tensor<2xf32, #b>
  %s = ptl.reduce sum %m over [batch] : tensor<2xf32, #b> -> tensor<f32>
  %c = ptl.constant 0.25 : tensor<f32>
  %l = ptl.elementwise mul %s, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %l, %r : tensor<f32>, tensor<2xf32, #b>
}
