// RUN: ptl-opt %s --fuse-expand-rows | FileCheck %s
// RUN: ptl-opt %s --fuse-expand-rows --fuse-rows --fuse-outline-single -o %t
// RUN: ptl-run --compare --all --f64 %s %t

#x = #ptl.dims<[x]>
#xy = #ptl.dims<[x, y]>
#n = #ptl.dims<[n]>
#ny = #ptl.dims<[n, y]>
spmd.mesh @mesh [a = 2, b = 2]

// A device looks its own rows up by their numbers in the whole; of 5 rows over both axes they hold 2, 1, 2 and none.
// CHECK-LABEL: func.func @slice
// CHECK:         %[[I:.*]] = ptl.iota x {cut = #spmd.cuts<[x global 5 axes [a, b]]>} : tensor<2xi32
// CHECK:         %[[L:.*]] = ptl.constant 4
// CHECK:         %[[K:.*]] = ptl.elementwise min %[[I]], %[[L]]
// CHECK:         %[[W:.*]] = ptl.reshape %arg0 {{.*}}[x] -> ["x.whole"]
// CHECK:         ptl.gather %[[W]]["x.whole" : %[[K]]]
// CHECK-NOT:     spmd.slice
func.func @slice(%x: tensor<5x3xf32, #xy>) -> (tensor<2x3xf32, #xy> {spmd.global_type = tensor<5x3xf32, #xy>, spmd.sharding = #spmd.sharding<[[a, b], []]>}) {
  %0 = spmd.slice %x along x over @mesh [a, b] : tensor<5x3xf32, #xy> -> tensor<2x3xf32, #xy>
  %1 = ptl.elementwise exp %0 : (tensor<2x3xf32, #xy>) -> tensor<2x3xf32, #xy>
  return %1 : tensor<2x3xf32, #xy>
}

// What another device has counts as 0; a device without rows has nothing, and padding is no row.
// CHECK-LABEL: func.func @gather
// CHECK:         spmd.mask {{.*}} fill 5 cuts <[x global 5 axes [a, b]]>
// CHECK:         ptl.reduce min
// CHECK:         spmd.mask {{.*}} fill -1 cuts <[x global 5 axes [a, b]]>
// CHECK:         ptl.reduce max
// CHECK:         %[[G:.*]] = ptl.gather %arg0[x : %{{.*}}] :
// CHECK:         ptl.elementwise select %{{.*}}, %[[G]], %{{.*}}
func.func @gather(%x: tensor<2x3xf32, #xy> {spmd.global_type = tensor<5x3xf32, #xy>, spmd.sharding = #spmd.sharding<[[a, b], []]>},
                  %i: tensor<7xi32, #n> {run.value = [0, 4, 2, 3, 1, 2, 4]})
    -> (tensor<7x3xf32, #ny> {spmd.global_type = tensor<7x3xf32, #ny>, spmd.sharding = #spmd.sharding<[[], []] partial sum [a, b]>}) {
  %0 = ptl.gather %x[x : %i] {cut = #spmd.cuts<[x global 5 axes [a, b]]>} : (tensor<2x3xf32, #xy>, tensor<7xi32, #n>) -> tensor<7x3xf32, #ny>
  return %0 : tensor<7x3xf32, #ny>
}

// What is for another device isn't added.
// CHECK-LABEL: func.func @scatter
// CHECK:         %[[S:.*]] = ptl.elementwise select
// CHECK:         ptl.scatter_add %[[S]], %arg1 over x :
func.func @scatter(%i: tensor<7xi32, #n> {run.value = [0, 4, 2, 3, 1, 2, 4]}, %u: tensor<7x3xf32, #ny>)
    -> (tensor<2x3xf32, #xy> {spmd.global_type = tensor<5x3xf32, #xy>, spmd.sharding = #spmd.sharding<[[a, b], []]>}) {
  %0 = ptl.scatter_add %i, %u over x {cut = #spmd.cuts<[x global 5 axes [a, b]]>} : (tensor<7xi32, #n>, tensor<7x3xf32, #ny>) -> tensor<2x3xf32, #xy>
  return %0 : tensor<2x3xf32, #xy>
}
