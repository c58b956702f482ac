// RUN: split-file %s %t
// RUN: ptl-native %t/joins.mlir | FileCheck %s --check-prefix=FOUR
// RUN: ptl-native %t/exchanges.mlir | FileCheck %s --check-prefix=FOUR
// RUN: ptl-native %t/permutes.mlir | FileCheck %s --check-prefix=FOUR
// RUN: ptl-native %t/cuts.mlir | FileCheck %s --check-prefix=FOUR
// RUN: ptl-native %t/lookups.mlir | FileCheck %s --check-prefix=FOUR
// Ranks as threads, six or more, with the runtime's collectives, against the interpreter on as many simulated ranks. No size divides.
// FOUR: 4 of 4 results agree

//--- joins.mlir
// 7 rows over 2 x 3 ranks lie 2 2 0 2 1 0: joined over one axis, over both, and over both in pieces of four rows.
#xy = #ptl.dims<[x, y]>
!whole = tensor<7x5xf32, #xy>
spmd.mesh @mesh [a = 2, b = 3]
func.func @step(%x: tensor<2x5xf32, #xy> {spmd.global_type = !whole, spmd.sharding = #spmd.sharding<[[a, b], []]>},
                %z: tensor<5x2xi32, #ptl.dims<[y, x]>> {spmd.global_type = tensor<5x7xi32, #ptl.dims<[y, x]>>, spmd.sharding = #spmd.sharding<[[], [a, b]]>})
    -> (tensor<f32> {ptl.role = "loss"},
        tensor<4x5xf32, #xy> {spmd.global_type = !whole, spmd.sharding = #spmd.sharding<[[a], []]>},
        !whole {spmd.global_type = !whole, spmd.sharding = #spmd.sharding<[[], []]>},
        tensor<5x7xi32, #ptl.dims<[y, x]>> {spmd.global_type = tensor<5x7xi32, #ptl.dims<[y, x]>>, spmd.sharding = #spmd.sharding<[[], []]>}) {
  %l = ptl.constant 1 : tensor<f32>
  %0 = spmd.all_gather %x along x over @mesh [b] : tensor<2x5xf32, #xy> -> tensor<4x5xf32, #xy>
  %1 = spmd.all_gather %x along x over @mesh [a, b] : tensor<2x5xf32, #xy> -> !whole
  %2 = spmd.all_gather %z along x over @mesh [a, b] : tensor<5x2xi32, #ptl.dims<[y, x]>> -> tensor<5x7xi32, #ptl.dims<[y, x]>>
  return %l, %0, %1, %2 : tensor<f32>, tensor<4x5xf32, #xy>, !whole, tensor<5x7xi32, #ptl.dims<[y, x]>>
}

//--- exchanges.mlir
// From rows to columns and back, with a dimension between them, over one axis and over both.
#xmy = #ptl.dims<[x, m, y]>
!whole = tensor<7x2x5xf32, #xmy>
spmd.mesh @mesh [a = 2, b = 3]
func.func @step(%x: tensor<4x2x5xf32, #xmy> {spmd.global_type = !whole, spmd.sharding = #spmd.sharding<[[a], [], []]>},
                %y: tensor<7x2x1xf32, #xmy> {spmd.global_type = !whole, spmd.sharding = #spmd.sharding<[[], [], [a, b]]>})
    -> (tensor<f32> {ptl.role = "loss"},
        tensor<7x2x3xf32, #xmy> {spmd.global_type = !whole, spmd.sharding = #spmd.sharding<[[], [], [a]]>},
        tensor<2x2x5xf32, #xmy> {spmd.global_type = !whole, spmd.sharding = #spmd.sharding<[[a, b], [], []]>},
        tensor<3x2x3xf32, #xmy> {spmd.global_type = !whole, spmd.sharding = #spmd.sharding<[[b], [], [a]]>}) {
  %l = ptl.constant 1 : tensor<f32>
  %0 = spmd.all_to_all %x from x to y over @mesh [a] : tensor<4x2x5xf32, #xmy> -> tensor<7x2x3xf32, #xmy>
  %1 = spmd.all_to_all %y from y to x over @mesh [a, b] : tensor<7x2x1xf32, #xmy> -> tensor<2x2x5xf32, #xmy>
  %2 = spmd.all_to_all %y from y to x over @mesh [b] : tensor<7x2x1xf32, #xmy> -> tensor<3x2x3xf32, #xmy>
  return %l, %0, %1, %2 : tensor<f32>, tensor<7x2x3xf32, #xmy>, tensor<2x2x5xf32, #xmy>, tensor<3x2x3xf32, #xmy>
}

//--- permutes.mlir
// Shards under other axes: 6 over 2 x 3 in both orders, over axes of one size that cut nothing before, and rows for columns.
#xy = #ptl.dims<[x, y]>
!whole = tensor<6x6xf32, #xy>
!rows = tensor<1x6xf32, #xy>
!few = tensor<3x6xf32, #xy>
!tile = tensor<3x3xf32, #xy>
spmd.mesh @mesh [a = 2, b = 3, c = 2]
func.func @step(%x: !rows {spmd.global_type = !whole, spmd.sharding = #spmd.sharding<[[a, b], []]>},
                %y: !few {spmd.global_type = !whole, spmd.sharding = #spmd.sharding<[[a], []]>},
                %z: !tile {spmd.global_type = !whole, spmd.sharding = #spmd.sharding<[[a], [c]]>})
    -> (tensor<f32> {ptl.role = "loss"},
        !rows {spmd.global_type = !whole, spmd.sharding = #spmd.sharding<[[b, a], []]>},
        !few {spmd.global_type = !whole, spmd.sharding = #spmd.sharding<[[c], []]>},
        !tile {spmd.global_type = !whole, spmd.sharding = #spmd.sharding<[[c], [a]]>}) {
  %l = ptl.constant 1 : tensor<f32>
  %0 = spmd.permute %x from <[[a, b], []]> to <[[b, a], []]> over @mesh [a, b] : !rows -> !rows
  %1 = spmd.permute %y from <[[a], []]> to <[[c], []]> over @mesh [a, c] : !few -> !few
  %2 = spmd.permute %z from <[[a], [c]]> to <[[c], [a]]> over @mesh [a, c] : !tile -> !tile
  return %l, %0, %1, %2 : tensor<f32>, !rows, !few, !tile
}

//--- cuts.mlir
// A sum that is scattered in another order of axes, a slice, and a value that one rank keeps until it is summed.
#xy = #ptl.dims<[x, y]>
!whole = tensor<7x5xf32, #xy>
!part = tensor<2x5xf32, #xy>
spmd.mesh @mesh [a = 2, b = 3]
func.func @step(%x: !whole)
    -> (tensor<f32> {ptl.role = "loss"},
        !part {spmd.global_type = !whole, spmd.sharding = #spmd.sharding<[[b, a], []]>},
        !part {spmd.global_type = !whole, spmd.sharding = #spmd.sharding<[[a, b], []]>}, !whole) {
  %l = ptl.constant 1 : tensor<f32>
  %0 = spmd.reduce_scatter sum %x along x over @mesh [b, a] : !whole -> !part
  %1 = spmd.slice %x along x over @mesh [a, b] : !whole -> !part
  %2 = spmd.keep %x over @mesh [b, a] : !whole -> !whole
  %3 = spmd.all_reduce sum %2 over @mesh [a, b] : !whole -> !whole
  return %l, %0, %1, %3 : tensor<f32>, !part, !part, !whole
}

//--- lookups.mlir
// Rows of a table that is cut: each rank has the ids of its own rows and gives 0 for the others', adds its own and leaves
// out the others'. A negative index adds nothing.
#ve = #ptl.dims<[vocab, embed]>
#be = #ptl.dims<[batch, embed]>
!ids = tensor<6xi32, #ptl.dims<[batch]>>
!found = tensor<6x3xf32, #be>
!whole = tensor<7x3xf32, #ve>
!part = tensor<2x3xf32, #ve>
spmd.mesh @mesh [a = 2, b = 3]
func.func @step(%t: !part {spmd.global_type = !whole, spmd.sharding = #spmd.sharding<[[a, b], []]>},
                %ids: !ids {ptl.limit = 7}, %u: !found)
    -> (tensor<f32> {ptl.role = "loss"}, !found,
        !part {spmd.global_type = !whole, spmd.sharding = #spmd.sharding<[[a, b], []]>}, !whole) {
  %l = ptl.constant 1 : tensor<f32>
  %0 = ptl.gather %t[vocab : %ids] {cut = #spmd.cuts<[vocab global 7 axes [a, b]]>} : (!part, !ids) -> !found
  %1 = spmd.all_reduce sum %0 over @mesh [a, b] : !found -> !found
  %2 = ptl.scatter_add %ids, %u over vocab {cut = #spmd.cuts<[vocab global 7 axes [a, b]]>} : (!ids, !found) -> !part
  %three = ptl.constant 3 : !ids
  %none = ptl.constant -1 : !ids
  %few = ptl.elementwise ge %ids, %three : (!ids, !ids) -> tensor<6xi1, #ptl.dims<[batch]>>
  %some = ptl.elementwise select %few, %ids, %none : (tensor<6xi1, #ptl.dims<[batch]>>, !ids, !ids) -> !ids
  %3 = ptl.scatter_add %some, %u over vocab : (!ids, !found) -> !whole
  return %l, %1, %2, %3 : tensor<f32>, !found, !part, !whole
}
