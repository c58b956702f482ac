// RUN: ptl-opt %s --fuse-expand-rows | FileCheck %s
// RUN: ptl-opt %s --fuse-expand-rows --fuse-rows --fuse-outline-single -o %t
// RUN: ptl-run --compare --all %s %t

#xy = #ptl.dims<[x, y]>
spmd.mesh @mesh [a = 2, b = 2]

// A device looks its own rows up by their numbers in the whole; of 5 rows over both axes they hold 2, 1, 2 and none.
// CHECK-LABEL: func.func @f
// CHECK:         %[[W:.*]] = ptl.reshape %arg0 {{.*}}[x] -> ["x.whole"]
// CHECK:         %[[I:.*]] = ptl.iota x {cut = #spmd.cuts<[x global 5 axes [a, b]]>} : tensor<2xi32
// CHECK:         %[[L:.*]] = ptl.constant 4
// CHECK:         %[[K:.*]] = ptl.elementwise min %[[I]], %[[L]]
// CHECK:         ptl.gather %[[W]]["x.whole" : %[[K]]]
// CHECK-NOT:     spmd.slice
func.func @f(%x: tensor<5x3xf32, #xy>) -> (tensor<2x3xf32, #xy> {spmd.global_type = tensor<5x3xf32, #xy>, spmd.sharding = #spmd.sharding<[[a, b], []]>}) {
  %0 = spmd.slice %x along x over @mesh [a, b] : tensor<5x3xf32, #xy> -> tensor<2x3xf32, #xy>
  %1 = ptl.elementwise exp %0 : (tensor<2x3xf32, #xy>) -> tensor<2x3xf32, #xy>
  return %1 : tensor<2x3xf32, #xy>
}
