// RUN: ptl-run --all %s | FileCheck %s
// Operations that move elements.

#v = #ptl.dims<[v]>
#ve = #ptl.dims<[v, e]>
#ev = #ptl.dims<[e, v]>
#s = #ptl.dims<[s]>
#t = #ptl.dims<[t]>
#se = #ptl.dims<[s, e]>
#es = #ptl.dims<[e, s]>
#hd = #ptl.dims<[h, d]>
#e = #ptl.dims<[e]>
#ab = #ptl.dims<[a, b]>
#abc = #ptl.dims<[a, b, c]>
#x = #ptl.dims<[x]>
#y = #ptl.dims<[y]>
#z = #ptl.dims<[z]>
#k = #ptl.dims<[k]>

// The names of the ids stand in the place of the table's.
// CHECK-LABEL: @gather
// CHECK-NEXT: value 0: [s=4, e=2] 5 6 1 2 3 4 5 6
// CHECK-NEXT: value 1: [e=2, s=4] 3 1 2 3 6 4 5 6
func.func @gather(%table: tensor<3x2xf32, #ve> {run.value = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]},
                  %other: tensor<2x3xf32, #ev> {run.value = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]},
                  %ids: tensor<4xi32, #s> {run.value = [2, 0, 1, 2]})
    -> (tensor<4x2xf32, #se>, tensor<2x4xf32, #es>) {
  %0 = ptl.gather %table[v : %ids] : (tensor<3x2xf32, #ve>, tensor<4xi32, #s>) -> tensor<4x2xf32, #se>
  %1 = ptl.gather %other[v : %ids] : (tensor<2x3xf32, #ev>, tensor<4xi32, #s>) -> tensor<2x4xf32, #es>
  return %0, %1 : tensor<4x2xf32, #se>, tensor<2x4xf32, #es>
}

// A name that both have is aligned: one element per row.
// CHECK-LABEL: @gather_rows
// CHECK-NEXT: value 0: [s=2] 3 4
func.func @gather_rows(%table: tensor<2x3xf32, #ptl.dims<[s, v]>> {run.value = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]},
                       %ids: tensor<2xi32, #s> {run.value = [2, 0]}) -> tensor<2xf32, #s> {
  %0 = ptl.gather %table[v : %ids] : (tensor<2x3xf32, #ptl.dims<[s, v]>>, tensor<2xi32, #s>) -> tensor<2xf32, #s>
  return %0 : tensor<2xf32, #s>
}

// Equal ids add up; -1 adds nothing; an initial value stays.
// CHECK-LABEL: @scatter
// CHECK-NEXT: value 0: [v=3, e=2] 3 4 0 0 6 8
// CHECK-NEXT: value 1: [v=3, e=2] 103 104 100 100 106 108
func.func @scatter(%updates: tensor<4x2xf32, #se> {run.value = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]},
                   %ids: tensor<4xi32, #s> {run.value = [2, 0, 2, -1]},
                   %init: tensor<3x2xf32, #ve> {run.value = [100.0]})
    -> (tensor<3x2xf32, #ve>, tensor<3x2xf32, #ve>) {
  %0 = ptl.scatter_add %ids, %updates over v : (tensor<4xi32, #s>, tensor<4x2xf32, #se>) -> tensor<3x2xf32, #ve>
  %1 = ptl.scatter_add %ids, %updates over v into %init : (tensor<4xi32, #s>, tensor<4x2xf32, #se>, tensor<3x2xf32, #ve>) -> tensor<3x2xf32, #ve>
  return %0, %1 : tensor<3x2xf32, #ve>, tensor<3x2xf32, #ve>
}

// Split, merge of dimensions that aren't adjacent, rename.
// CHECK-LABEL: @reshape
// CHECK-NEXT: value 0: [h=2, d=3] 1 2 3 4 5 6
// CHECK-NEXT: value 1: [m=4, b=2] 1 3 2 4 5 7 6 8
// CHECK-NEXT: value 2: [t=4] 1 2 3 4
func.func @reshape(%x: tensor<6xf32, #e> {run.value = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]},
                   %y: tensor<2x2x2xf32, #abc> {run.value = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]},
                   %z: tensor<4xf32, #s> {run.value = [1.0, 2.0, 3.0, 4.0]})
    -> (tensor<2x3xf32, #hd>, tensor<4x2xf32, #ptl.dims<[m, b]>>, tensor<4xf32, #t>) {
  %0 = ptl.reshape %x [[e] -> [h, d]] : tensor<6xf32, #e> -> tensor<2x3xf32, #hd>
  %1 = ptl.reshape %y [[a, c] -> [m]] : tensor<2x2x2xf32, #abc> -> tensor<4x2xf32, #ptl.dims<[m, b]>>
  %2 = ptl.reshape %z [[s] -> [t]] : tensor<4xf32, #s> -> tensor<4xf32, #t>
  return %0, %1, %2 : tensor<2x3xf32, #hd>, tensor<4x2xf32, #ptl.dims<[m, b]>>, tensor<4xf32, #t>
}

// CHECK-LABEL: @resize
// CHECK-NEXT: value 0: [z=5] 1 2 3 4 5
// CHECK-NEXT: value 1: [x=2] 4 5
// CHECK-NEXT: value 2: [z=5] -7 1 2 -7 -7
func.func @resize(%a: tensor<2xf32, #x> {run.value = [1.0, 2.0]}, %b: tensor<3xf32, #y> {run.value = [3.0, 4.0, 5.0]})
    -> (tensor<5xf32, #z>, tensor<2xf32, #x>, tensor<5xf32, #z>) {
  %0 = ptl.concat %a, %b [x, y] -> z : (tensor<2xf32, #x>, tensor<3xf32, #y>) -> tensor<5xf32, #z>
  %1 = ptl.slice %b y -> x from 1 : tensor<3xf32, #y> -> tensor<2xf32, #x>
  %2 = ptl.pad %a x -> z before 1 value -7.0 : tensor<2xf32, #x> -> tensor<5xf32, #z>
  return %0, %1, %2 : tensor<5xf32, #z>, tensor<2xf32, #x>, tensor<5xf32, #z>
}

// Of equal elements the lower index comes first.
// CHECK-LABEL: @order
// CHECK-NEXT: value 0: [a=2] 1 0
// CHECK-NEXT: value 1: [a=2, k=2] 5 5 4 1
// CHECK-NEXT: value 2: [a=2, k=2] 1 2 0 3
func.func @order(%x: tensor<2x4xf32, #ab> {run.value = [0.0, 5.0, 5.0, 1.0, 4.0, 1.0, 0.5, 1.0]},
                 %w: tensor<2x4xf32, #ab> {run.value = [0.0, 5.0, 5.0, 1.0, 4.0, 0.0, 0.5, 1.0]})
    -> (tensor<2xi32, #ptl.dims<[a]>>, tensor<2x2xf32, #ptl.dims<[a, k]>>, tensor<2x2xi32, #ptl.dims<[a, k]>>) {
  %0 = ptl.argmax %x over b : tensor<2x4xf32, #ab> -> tensor<2xi32, #ptl.dims<[a]>>
  %1, %2 = ptl.top_k %w b -> k : tensor<2x4xf32, #ab> -> (tensor<2x2xf32, #ptl.dims<[a, k]>>, tensor<2x2xi32, #ptl.dims<[a, k]>>)
  return %0, %1, %2 : tensor<2xi32, #ptl.dims<[a]>>, tensor<2x2xf32, #ptl.dims<[a, k]>>, tensor<2x2xi32, #ptl.dims<[a, k]>>
}

// CHECK-LABEL: @sources
// CHECK-NEXT: value 0: [s=4] 0 1 2 3
// CHECK-NEXT: value 1: [s=4] 0.100000001 0.100000001 0.100000001 0.100000001
// CHECK-NEXT: value 2: 1
func.func @sources() -> (tensor<4xi32, #s>, tensor<4xf32, #s>, tensor<i1>) {
  %0 = ptl.iota s : tensor<4xi32, #s>
  %1 = ptl.constant 0.1 : tensor<4xf32, #s>
  %2 = ptl.constant 1.0 : tensor<i1>
  return %0, %1, %2 : tensor<4xi32, #s>, tensor<4xf32, #s>, tensor<i1>
}
