// RUN: ptl-run --all %s | FileCheck %s
// Three ranks: 4 elements lie 2, 2, 0. Operations that know their place, and masks.

#x = #ptl.dims<[x]>
#v = #ptl.dims<[v]>
#s = #ptl.dims<[s]>
#sd = #ptl.dims<[s, d]>
#cut = #spmd.cuts<[x global 4 axes [dp]]>
#cutv = #spmd.cuts<[v global 4 axes [dp]]>
spmd.mesh @mesh [dp = 3]

// CHECK-LABEL: @sum
// CHECK-NEXT: value 0: 10
// CHECK-NEXT: value 1: 4
// CHECK-NEXT: value 2: [x=4] 0 1 2 3
func.func @sum(%x: tensor<2xf32, #x> {spmd.global_type = tensor<4xf32, #x>, spmd.sharding = #spmd.sharding<[[dp]]>, run.value = [1.0, 2.0, 3.0, 4.0]})
    -> (tensor<f32>, tensor<f32> {spmd.global_type = tensor<f32>, spmd.sharding = #spmd.sharding<[] partial max [dp]>},
        tensor<2xi32, #x> {spmd.global_type = tensor<4xi32, #x>, spmd.sharding = #spmd.sharding<[[dp]]>}) {
  %0 = spmd.mask %x fill 0 cuts #cut on @mesh : tensor<2xf32, #x> -> tensor<2xf32, #x>
  %1 = ptl.reduce sum %0 over [x] : tensor<2xf32, #x> -> tensor<f32>
  %2 = spmd.all_reduce sum %1 over @mesh [dp] : tensor<f32> -> tensor<f32>
  %3 = spmd.mask %x fill -1.0e+30 cuts #cut on @mesh : tensor<2xf32, #x> -> tensor<2xf32, #x>
  %4 = ptl.reduce max %3 over [x] : tensor<2xf32, #x> -> tensor<f32>
  %5 = ptl.iota x {cut = #cut} : tensor<2xi32, #x>
  return %2, %4, %5 : tensor<f32>, tensor<f32>, tensor<2xi32, #x>
}

// Junk in the fold of one rank is junk everywhere.
// CHECK-LABEL: @forgets_the_mask
// CHECK-NEXT: value 0: nan
func.func @forgets_the_mask(%x: tensor<2xf32, #x> {spmd.global_type = tensor<4xf32, #x>, spmd.sharding = #spmd.sharding<[[dp]]>, run.value = [1.0]})
    -> tensor<f32> {
  %0 = ptl.reduce max %x over [x] : tensor<2xf32, #x> -> tensor<f32>
  %1 = spmd.all_reduce max %0 over @mesh [dp] : tensor<f32> -> tensor<f32>
  return %1 : tensor<f32>
}

// The rows of a table are cut: other ranks' rows read as 0, and the sum is the lookup. The transpose keeps its own rows.
// CHECK-LABEL: @table
// CHECK-NEXT: value 0: [s=3] 40 10 30
// CHECK-NEXT: value 1: [v=4] 1 0 1 1
func.func @table(%t: tensor<2xf32, #v> {spmd.global_type = tensor<4xf32, #v>, spmd.sharding = #spmd.sharding<[[dp]]>, run.value = [10.0, 20.0, 30.0, 40.0]},
                 %ids: tensor<3xi32, #s> {run.value = [3, 0, 2]})
    -> (tensor<3xf32, #s>, tensor<2xf32, #v> {spmd.global_type = tensor<4xf32, #v>, spmd.sharding = #spmd.sharding<[[dp]]>}) {
  %0 = ptl.gather %t[v : %ids] {cut = #cutv} : (tensor<2xf32, #v>, tensor<3xi32, #s>) -> tensor<3xf32, #s>
  %1 = spmd.all_reduce sum %0 over @mesh [dp] : tensor<3xf32, #s> -> tensor<3xf32, #s>
  %one = ptl.constant 1.0 : tensor<3xf32, #s>
  %2 = ptl.scatter_add %ids, %one over v {cut = #cutv} : (tensor<3xi32, #s>, tensor<3xf32, #s>) -> tensor<2xf32, #v>
  return %1, %2 : tensor<3xf32, #s>, tensor<2xf32, #v>
}

// Positions are global: causal attention with the queries cut and the keys whole is that of one device. Scores are
// equal, so query i averages the values 0, 1, 2, 3 up to i.
// CHECK-LABEL: @positions
// CHECK-NEXT: value 0: [s=4, d=1] 0 0.5 1 1.5
func.func @positions(%q: tensor<2x1xf32, #sd> {spmd.global_type = tensor<4x1xf32, #sd>, spmd.sharding = #spmd.sharding<[[dp], []]>, run.value = [1.0]},
                     %k: tensor<4x1xf32, #sd> {run.value = [1.0]}, %v: tensor<4x1xf32, #sd> {run.value = [0.0, 1.0, 2.0, 3.0]})
    -> (tensor<2x1xf32, #sd> {spmd.global_type = tensor<4x1xf32, #sd>, spmd.sharding = #spmd.sharding<[[dp], []]>}) {
  %y, %lse = ptl.attention %q, %k, %v over s depth d -> d scale 1.0 causal {cut = #spmd.cuts<[s global 4 axes [dp]]>}
    : (tensor<2x1xf32, #sd>, tensor<4x1xf32, #sd>, tensor<4x1xf32, #sd>) -> (tensor<2x1xf32, #sd>, tensor<2xf32, #s>)
  return %y : tensor<2x1xf32, #sd>
}

// Random numbers by global index: whole and cut give the same, so their difference is 0.
// CHECK-LABEL: @random
// CHECK-NEXT: value 0: [x=4] 0 0 0 0
func.func @random(%step: tensor<i64> {run.value = [7]})
    -> (tensor<2xf32, #x> {spmd.global_type = tensor<4xf32, #x>, spmd.sharding = #spmd.sharding<[[dp]]>}) {
  %0 = ptl.random normal place "p#0" step %step {cut = #cut} : tensor<i64> -> tensor<2xf32, #x>
  %1 = ptl.random normal place "p#0" step %step : tensor<i64> -> tensor<4xf32, #x>
  %2 = spmd.slice %1 along x over @mesh [dp] : tensor<4xf32, #x> -> tensor<2xf32, #x>
  %3 = ptl.elementwise sub %0, %2 : (tensor<2xf32, #x>, tensor<2xf32, #x>) -> tensor<2xf32, #x>
  return %3 : tensor<2xf32, #x>
}

// 5 rows in 2 micro-batches on 3 ranks: pieces of 3 and 2 rows, a rank holds one row of each; row n has value n.
// CHECK-LABEL: @micro
// CHECK-NEXT: value 0: 15
// CHECK-NEXT: value 1: 10
func.func @micro(%x: tensor<2xf32, #ptl.dims<[batch]>> {spmd.global_type = tensor<5xf32, #ptl.dims<[batch]>>, spmd.sharding = #spmd.sharding<[[dp]]>, run.value = [1.0, 2.0, 3.0, 4.0, 5.0]})
    -> (tensor<f32>, tensor<f32>) {
  %s:2 = ptl.accumulate pieces 2 (%k) -> tensor<f32>, tensor<f32> {
    %p = ptl.microbatch %x[%k] of 2 along batch : tensor<2xf32, #ptl.dims<[batch]>> -> tensor<1xf32, #ptl.dims<[batch]>>
    %m = spmd.mask %p fill 0 cuts <[batch global 5 axes [dp] micro 2]> on @mesh : tensor<1xf32, #ptl.dims<[batch]>> -> tensor<1xf32, #ptl.dims<[batch]>>
    %r = ptl.reduce sum %m over [batch] : tensor<1xf32, #ptl.dims<[batch]>> -> tensor<f32>
    %i = ptl.iota batch {cut = #spmd.cuts<[batch global 5 axes [dp] micro 2]>} : tensor<1xi32, #ptl.dims<[batch]>>
    %f = ptl.elementwise cast %i : (tensor<1xi32, #ptl.dims<[batch]>>) -> tensor<1xf32, #ptl.dims<[batch]>>
    %n = spmd.mask %f fill 0 cuts <[batch global 5 axes [dp] micro 2]> on @mesh : tensor<1xf32, #ptl.dims<[batch]>> -> tensor<1xf32, #ptl.dims<[batch]>>
    %t = ptl.reduce sum %n over [batch] : tensor<1xf32, #ptl.dims<[batch]>> -> tensor<f32>
    ptl.yield %r, %t : tensor<f32>, tensor<f32>
  }
  %0 = spmd.all_reduce sum %s#0 over @mesh [dp] : tensor<f32> -> tensor<f32>
  %1 = spmd.all_reduce sum %s#1 over @mesh [dp] : tensor<f32> -> tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}

// A junk index could be any row, but an update of 0 doesn't matter there.
// CHECK-LABEL: @junk_index
// CHECK-NEXT: value 0: [v=4] nan nan nan nan
// CHECK-NEXT: value 1: [v=4] 4 0 0 0
func.func @junk_index(%i: tensor<2xi32, #x> {run.value = [0], spmd.global_type = tensor<4xi32, #x>, spmd.sharding = #spmd.sharding<[[dp]]>})
    -> (tensor<4xf32, #v> {spmd.global_type = tensor<4xf32, #v>, spmd.sharding = #spmd.sharding<[[]] partial sum [dp]>},
        tensor<4xf32, #v> {spmd.global_type = tensor<4xf32, #v>, spmd.sharding = #spmd.sharding<[[]] partial sum [dp]>}) {
  %one = ptl.constant 1.0 : tensor<2xf32, #x>
  %0 = ptl.scatter_add %i, %one over v : (tensor<2xi32, #x>, tensor<2xf32, #x>) -> tensor<4xf32, #v>
  %m = spmd.mask %one fill 0 cuts #cut on @mesh : tensor<2xf32, #x> -> tensor<2xf32, #x>
  %1 = ptl.scatter_add %i, %m over v : (tensor<2xi32, #x>, tensor<2xf32, #x>) -> tensor<4xf32, #v>
  return %0, %1 : tensor<4xf32, #v>, tensor<4xf32, #v>
}
