// RUN: ptl-opt %s | ptl-opt | FileCheck %s
// RUN: ptl-opt %s --mlir-print-op-generic | ptl-opt | FileCheck %s

// CHECK: spmd.mesh @mesh [dp = 2 link 1.800000e+01, tp = 2, "x.y" = 3]
spmd.mesh @mesh [dp = 2 link 18.0, tp = 2, "x.y" = 3]

// Shardings: axes per dimension, major first, and pending axes with their kind.
// CHECK: func @shardings
// CHECK-SAME: {spmd.sharding = #spmd.sharding<{{\[\[}}dp, tp], []] partial max ["x.y"]>}
// CHECK-SAME: {spmd.sharding = #spmd.sharding<[]>}
func.func @shardings(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>> {spmd.sharding = #spmd.sharding<[[dp, tp], []] partial max ["x.y"]>},
                     %y: tensor<f32> {spmd.sharding = #spmd.sharding<[]>}) {
  return
}

// Collectives name the mesh, its axes and the dimension that they cut or join.
// CHECK-LABEL: func @collectives
func.func @collectives(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>, %s: tensor<f32>) -> tensor<4x6xf32, #ptl.dims<[seq, heads]>> {
  // CHECK: spmd.all_reduce sum %{{.*}}, %{{.*}} over @mesh [dp, tp] reason "gradients"
  %r:2 = spmd.all_reduce sum %x, %s over @mesh [dp, tp] reason "gradients" : tensor<4x6xf32, #ptl.dims<[seq, heads]>>, tensor<f32> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>, tensor<f32>
  // CHECK: spmd.all_reduce max %{{.*}} over @mesh [tp] {members = [#spmd.member<"m.ptl:1:2" because "'softmax' folds" instead of "a gather of 8 B">]}
  %top = spmd.all_reduce max %s over @mesh [tp] {members = [#spmd.member<"m.ptl:1:2" because "'softmax' folds" instead of "a gather of 8 B">]} : tensor<f32> -> tensor<f32>
  // CHECK: spmd.all_gather %{{.*}} along seq over @mesh [tp]
  %g = spmd.all_gather %r#0 along seq over @mesh [tp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<8x6xf32, #ptl.dims<[seq, heads]>>
  // CHECK: spmd.slice %{{.*}} along seq over @mesh [dp, tp]
  %l = spmd.slice %g along seq over @mesh [dp, tp] : tensor<8x6xf32, #ptl.dims<[seq, heads]>> -> tensor<2x6xf32, #ptl.dims<[seq, heads]>>
  // CHECK: spmd.reduce_scatter max %{{.*}} along seq over @mesh [tp]
  %t = spmd.reduce_scatter max %g along seq over @mesh [tp] : tensor<8x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  // CHECK: spmd.all_to_all %{{.*}} from seq to heads over @mesh [tp]
  %e = spmd.all_to_all %t from seq to heads over @mesh [tp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<8x3xf32, #ptl.dims<[seq, heads]>>
  // CHECK: spmd.permute %{{.*}} from <{{\[\[}}dp], [tp]]> to <{{\[\[}}tp], [dp]]> over @mesh [dp, tp] reason "moved"
  %p = spmd.permute %t from <[[dp], [tp]]> to <[[tp], [dp]]> over @mesh [dp, tp] reason "moved" : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  // CHECK: spmd.constrain %{{.*}} by [0, 2] held : tensor<4x6xf32
  %n = spmd.constrain %t by [0, 2] held : tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  // CHECK: spmd.keep %{{.*}} over @mesh [dp]
  %k = spmd.keep %t over @mesh [dp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  // CHECK: spmd.mask %{{.*}} fill -inf cuts <[seq global 7 axes [tp], heads global 16 axes [dp] micro 2]> on @mesh
  %m = spmd.mask %k fill -inf cuts <[seq global 7 axes [tp], heads global 16 axes [dp] micro 2]> on @mesh : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  return %m : tensor<4x6xf32, #ptl.dims<[seq, heads]>>
}

// Before partitioning a mask cuts into micro-batches only, and no mesh is needed.
// CHECK-LABEL: func @piece
func.func @piece(%x: tensor<3xi32, #ptl.dims<[batch]>>) -> tensor<3xi32, #ptl.dims<[batch]>> {
  // CHECK: spmd.mask %{{.*}} fill -1 cuts <[batch global 7 micro 3]> on @none
  %m = spmd.mask %x fill -1 cuts <[batch global 7 micro 3]> on @none : tensor<3xi32, #ptl.dims<[batch]>> -> tensor<3xi32, #ptl.dims<[batch]>>
  // CHECK: ptl.iota batch {cut = #spmd.cuts<[batch global 7 micro 3]>}
  %i = ptl.iota batch {cut = #spmd.cuts<[batch global 7 micro 3]>} : tensor<3xi32, #ptl.dims<[batch]>>
  return %m : tensor<3xi32, #ptl.dims<[batch]>>
}
