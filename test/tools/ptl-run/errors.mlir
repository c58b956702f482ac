// RUN: split-file %s %t
// RUN: not ptl-run %t/unknown.mlir 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not ptl-run %t/range.mlir 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not ptl-run %t/target.mlir 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not ptl-run %t/hyper.mlir 2>&1 | FileCheck %s --check-prefix=HYPER
// RUN: not ptl-run %t/range.mlir --function nope 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not ptl-run %t/range.mlir --weights %t/nowhere 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not ptl-run --compare %t/range.mlir 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not ptl-run %t/micro.mlir 2>&1 | FileCheck %s --check-prefix=MICRO

// UNKNOWN: unknown.mlir:2:8: error: ptl-run can't execute 'foo.bar' (rank 0)
// RANGE: range.mlir:5:8: error: index 3 is outside 'v' of size 3 (rank 0)
// TARGET: error: target -1 is outside 'v' of size 3 (rank 0)
// HYPER: error: no value for hyper-parameter 'lr'; use --hyper lr=...
// NAME: error: there is no function 'nope'
// FILE: error: '{{.*}}nowhere': No such file or directory
// COUNT: error: expected 2 modules, found 1
// MICRO: error: a cut into micro-batches outside ptl.accumulate (rank 0)

//--- unknown.mlir
func.func @f() -> tensor<f32> {
  %0 = "foo.bar"() : () -> tensor<f32>
  return %0 : tensor<f32>
}
//--- range.mlir
#v = #ptl.dims<[v]>
#s = #ptl.dims<[s]>
func.func @f(%t: tensor<3xf32, #v>,
             %i: tensor<2xi32, #s> {run.value = [2, 3]}) -> tensor<2xf32, #s> {
  %0 = ptl.gather %t[v : %i] : (tensor<3xf32, #v>, tensor<2xi32, #s>) -> tensor<2xf32, #s>
  return %0 : tensor<2xf32, #s>
}
//--- target.mlir
#sv = #ptl.dims<[s, v]>
#s = #ptl.dims<[s]>
func.func @f(%x: tensor<2x3xf32, #sv>, %i: tensor<2xi32, #s> {run.value = [2, -1]}) -> tensor<2xf32, #s> {
  %0, %1 = ptl.cross_entropy %x, %i over v : (tensor<2x3xf32, #sv>, tensor<2xi32, #s>) -> (tensor<2xf32, #s>, tensor<2xf32, #s>)
  return %0 : tensor<2xf32, #s>
}
//--- hyper.mlir
func.func @f(%lr: tensor<f32> {ptl.role = "hyper", ptl.path = "lr"}) -> tensor<f32> {
  return %lr : tensor<f32>
}
//--- micro.mlir
#s = #ptl.dims<[s]>
func.func @f() -> tensor<2xi32, #s> {
  %0 = ptl.iota s {cut = #spmd.cuts<[s global 4 micro 2]>} : tensor<2xi32, #s>
  return %0 : tensor<2xi32, #s>
}
