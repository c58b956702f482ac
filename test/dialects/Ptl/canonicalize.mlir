// RUN: ptl-opt %s --canonicalize | FileCheck %s

// Neutral operands, casts to the own type and broadcasts that change nothing vanish.
// CHECK-LABEL: func @neutral
// CHECK-SAME:    %[[X:.*]]: tensor<4xf32, #ptl.dims<[seq]>>)
// CHECK-NEXT:    return %[[X]]
func.func @neutral(%x: tensor<4xf32, #ptl.dims<[seq]>>) -> tensor<4xf32, #ptl.dims<[seq]>> {
  %zero = ptl.constant 0 : tensor<f32>
  %zeros = ptl.broadcast %zero : tensor<f32> -> tensor<4xf32, #ptl.dims<[seq]>>
  %one = ptl.constant 1 : tensor<4xf32, #ptl.dims<[seq]>>
  %a = ptl.elementwise add %zeros, %x : (tensor<4xf32, #ptl.dims<[seq]>>, tensor<4xf32, #ptl.dims<[seq]>>) -> tensor<4xf32, #ptl.dims<[seq]>>
  %b = ptl.elementwise mul %a, %one : (tensor<4xf32, #ptl.dims<[seq]>>, tensor<4xf32, #ptl.dims<[seq]>>) -> tensor<4xf32, #ptl.dims<[seq]>>
  %c = ptl.elementwise cast %b : (tensor<4xf32, #ptl.dims<[seq]>>) -> tensor<4xf32, #ptl.dims<[seq]>>
  %d = ptl.elementwise div %c, %one : (tensor<4xf32, #ptl.dims<[seq]>>, tensor<4xf32, #ptl.dims<[seq]>>) -> tensor<4xf32, #ptl.dims<[seq]>>
  %e = ptl.broadcast %d : tensor<4xf32, #ptl.dims<[seq]>> -> tensor<4xf32, #ptl.dims<[seq]>>
  %f = ptl.reshape %e [] : tensor<4xf32, #ptl.dims<[seq]>> -> tensor<4xf32, #ptl.dims<[seq]>>
  return %f : tensor<4xf32, #ptl.dims<[seq]>>
}

// A constant is the number that is meant: it is rounded to f32 once, where it is used.
// CHECK-LABEL: func @constants
// CHECK:         %[[C:.*]] = ptl.constant 0.30000000000000004 : tensor<f32>
// CHECK:         return %[[C]]
func.func @constants() -> tensor<f32> {
  %a = ptl.constant 3 : tensor<i32>
  %b = ptl.elementwise cast %a : (tensor<i32>) -> tensor<f32>
  %c = ptl.constant 0.1 : tensor<f32>
  %d = ptl.elementwise mul %b, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %d : tensor<f32>
}

// Two broadcasts are one.
// CHECK-LABEL: func @broadcasts
// CHECK:         ptl.broadcast %{{.*}} : tensor<f32> -> tensor<3x4xf32, #ptl.dims<[embed, seq]>>
// CHECK-NOT:     ptl.broadcast
func.func @broadcasts(%x: tensor<f32>) -> tensor<3x4xf32, #ptl.dims<[embed, seq]>> {
  %a = ptl.broadcast %x : tensor<f32> -> tensor<4xf32, #ptl.dims<[seq]>>
  %b = ptl.broadcast %a : tensor<4xf32, #ptl.dims<[seq]>> -> tensor<3x4xf32, #ptl.dims<[embed, seq]>>
  return %b : tensor<3x4xf32, #ptl.dims<[embed, seq]>>
}

// A sum with a scatter adds into the other term.
// CHECK-LABEL: func @scatter
// CHECK-SAME:    %[[X:.*]]: tensor<5xf32, #ptl.dims<[vocab]>>
// CHECK:         ptl.scatter_add %{{.*}}, %{{.*}} over vocab into %[[X]]
// CHECK-NOT:     ptl.elementwise
func.func @scatter(%x: tensor<5xf32, #ptl.dims<[vocab]>>, %i: tensor<4xi32, #ptl.dims<[seq]>>, %u: tensor<4xf32, #ptl.dims<[seq]>>) -> tensor<5xf32, #ptl.dims<[vocab]>> {
  %a = ptl.scatter_add %i, %u over vocab : (tensor<4xi32, #ptl.dims<[seq]>>, tensor<4xf32, #ptl.dims<[seq]>>) -> tensor<5xf32, #ptl.dims<[vocab]>>
  %b = ptl.elementwise add %x, %a : (tensor<5xf32, #ptl.dims<[vocab]>>, tensor<5xf32, #ptl.dims<[vocab]>>) -> tensor<5xf32, #ptl.dims<[vocab]>>
  return %b : tensor<5xf32, #ptl.dims<[vocab]>>
}

// A scatter that others use, too, stays.
// CHECK-LABEL: func @scatter_used_twice
// CHECK:         ptl.elementwise add
func.func @scatter_used_twice(%x: tensor<5xf32, #ptl.dims<[vocab]>>, %i: tensor<4xi32, #ptl.dims<[seq]>>, %u: tensor<4xf32, #ptl.dims<[seq]>>) -> (tensor<5xf32, #ptl.dims<[vocab]>>, tensor<5xf32, #ptl.dims<[vocab]>>) {
  %a = ptl.scatter_add %i, %u over vocab : (tensor<4xi32, #ptl.dims<[seq]>>, tensor<4xf32, #ptl.dims<[seq]>>) -> tensor<5xf32, #ptl.dims<[vocab]>>
  %b = ptl.elementwise add %x, %a : (tensor<5xf32, #ptl.dims<[vocab]>>, tensor<5xf32, #ptl.dims<[vocab]>>) -> tensor<5xf32, #ptl.dims<[vocab]>>
  return %a, %b : tensor<5xf32, #ptl.dims<[vocab]>>, tensor<5xf32, #ptl.dims<[vocab]>>
}
