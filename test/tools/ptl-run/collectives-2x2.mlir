// RUN: ptl-run --all %s | FileCheck %s
// Collectives on a 2 by 2 mesh; 5 elements over both axes lie 2, 1, 2, 0. Arguments and results are global:
// they are cut and put together by their shardings, and what is pending is added.

#x = #ptl.dims<[x]>
#y = #ptl.dims<[y]>
#xy = #ptl.dims<[x, y]>
spmd.mesh @mesh [a = 2, b = 2]

// Every element is held by the two ranks along b: doubled.
// CHECK-LABEL: @all_reduce
// CHECK-NEXT: value 0: [x=5] 2 4 6 8 10
// CHECK-NEXT: value 1: 2
func.func @all_reduce(%x: tensor<3xf32, #x> {spmd.global_type = tensor<5xf32, #x>, spmd.sharding = #spmd.sharding<[[a]]>, run.value = [1.0, 2.0, 3.0, 4.0, 5.0]},
                      %y: tensor<f32> {run.value = [2.0]})
    -> (tensor<3xf32, #x> {spmd.global_type = tensor<5xf32, #x>, spmd.sharding = #spmd.sharding<[[a]]>}, tensor<f32>) {
  %0 = spmd.all_reduce sum %x over @mesh [b] : tensor<3xf32, #x> -> tensor<3xf32, #x>
  %1 = spmd.all_reduce max %y over @mesh [a, b] : tensor<f32> -> tensor<f32>
  return %0, %1 : tensor<3xf32, #x>, tensor<f32>
}

// One level, then both: each time all ranks hold the same.
// CHECK-LABEL: @all_gather
// CHECK-NEXT: value 0: [x=5] 1 2 3 4 5
// CHECK-NEXT: value 1: [x=5] 1 2 3 4 5
func.func @all_gather(%x: tensor<2xf32, #x> {spmd.global_type = tensor<5xf32, #x>, spmd.sharding = #spmd.sharding<[[a, b]]>, run.value = [1.0, 2.0, 3.0, 4.0, 5.0]})
    -> (tensor<3xf32, #x> {spmd.global_type = tensor<5xf32, #x>, spmd.sharding = #spmd.sharding<[[a]]>},
        tensor<5xf32, #x> {spmd.global_type = tensor<5xf32, #x>, spmd.sharding = #spmd.sharding<[[]]>}) {
  %0 = spmd.all_gather %x along x over @mesh [b] : tensor<2xf32, #x> -> tensor<3xf32, #x>
  %1 = spmd.all_gather %x along x over @mesh [a, b] : tensor<2xf32, #x> -> tensor<5xf32, #x>
  return %0, %1 : tensor<3xf32, #x>, tensor<5xf32, #x>
}

// A pending sum of four copies, and the cut of one: the axes may be listed in another order than the mesh's.
// CHECK-LABEL: @reduce_scatter
// CHECK-NEXT: value 0: [x=5] 4 8 12 16 20
// CHECK-NEXT: value 1: [x=5] 1 2 3 4 5
// CHECK-NEXT: value 2: [x=5] 1 2 3 4 5
func.func @reduce_scatter(%x: tensor<5xf32, #x> {run.value = [1.0, 2.0, 3.0, 4.0, 5.0]})
    -> (tensor<2xf32, #x> {spmd.global_type = tensor<5xf32, #x>, spmd.sharding = #spmd.sharding<[[b, a]]>},
        tensor<2xf32, #x> {spmd.global_type = tensor<5xf32, #x>, spmd.sharding = #spmd.sharding<[[b, a]]>},
        tensor<5xf32, #x> {spmd.global_type = tensor<5xf32, #x>, spmd.sharding = #spmd.sharding<[[]] partial sum [a, b]>}) {
  %0 = spmd.reduce_scatter sum %x along x over @mesh [b, a] : tensor<5xf32, #x> -> tensor<2xf32, #x>
  %1 = spmd.slice %x along x over @mesh [b, a] : tensor<5xf32, #x> -> tensor<2xf32, #x>
  %2 = spmd.keep %x over @mesh [a, b] : tensor<5xf32, #x> -> tensor<5xf32, #x>
  return %0, %1, %2 : tensor<2xf32, #x>, tensor<2xf32, #x>, tensor<5xf32, #x>
}

// CHECK-LABEL: @all_to_all
// CHECK-NEXT: value 0: [x=3, y=3] 1 2 3 4 5 6 7 8 9
func.func @all_to_all(%x: tensor<2x3xf32, #xy> {spmd.global_type = tensor<3x3xf32, #xy>, spmd.sharding = #spmd.sharding<[[a], []]>, run.value = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]})
    -> (tensor<3x2xf32, #xy> {spmd.global_type = tensor<3x3xf32, #xy>, spmd.sharding = #spmd.sharding<[[], [a]]>}) {
  %0 = spmd.all_to_all %x from x to y over @mesh [a] : tensor<2x3xf32, #xy> -> tensor<3x2xf32, #xy>
  return %0 : tensor<3x2xf32, #xy>
}

// Rows over a, columns over b: changed for the other way round, and handed on to a from b along one dimension.
// CHECK-LABEL: @permute
// CHECK-NEXT: value 0: [x=4, y=2] 1 2 3 4 5 6 7 8
// CHECK-NEXT: value 1: [x=4, y=2] 1 2 3 4 5 6 7 8
func.func @permute(%x: tensor<2x1xf32, #xy> {spmd.global_type = tensor<4x2xf32, #xy>, spmd.sharding = #spmd.sharding<[[a], [b]]>, run.value = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]},
                   %y: tensor<2x2xf32, #xy> {spmd.global_type = tensor<4x2xf32, #xy>, spmd.sharding = #spmd.sharding<[[b], []]>, run.value = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]})
    -> (tensor<2x1xf32, #xy> {spmd.global_type = tensor<4x2xf32, #xy>, spmd.sharding = #spmd.sharding<[[b], [a]]>},
        tensor<2x2xf32, #xy> {spmd.global_type = tensor<4x2xf32, #xy>, spmd.sharding = #spmd.sharding<[[a], []]>}) {
  %0 = spmd.permute %x from <[[a], [b]]> to <[[b], [a]]> over @mesh [a, b] : tensor<2x1xf32, #xy> -> tensor<2x1xf32, #xy>
  %1 = spmd.permute %y from <[[b], []]> to <[[a], []]> over @mesh [a, b] : tensor<2x2xf32, #xy> -> tensor<2x2xf32, #xy>
  return %0, %1 : tensor<2x1xf32, #xy>, tensor<2x2xf32, #xy>
}
