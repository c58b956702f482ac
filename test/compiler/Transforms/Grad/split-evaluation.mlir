// RUN: ptl-opt %s --split-input-file --grad-split-evaluation | FileCheck %s

!x = tensor<4x3xf32, #ptl.dims<[batch, embed]>>
!w = tensor<3xf32, #ptl.dims<[embed]>>
!r = tensor<4xf32, #ptl.dims<[batch]>>
!m = tensor<4xi1, #ptl.dims<[batch]>>
!i = tensor<4xi32, #ptl.dims<[batch]>>
!s = tensor<f32>

// The sum and the count are totals of each batch; what is made of them stands behind the loop, the constant
// that both sides read on both.
// CHECK-LABEL: func @eval
// CHECK:         %[[T:.*]]:2 = ptl.accumulate pieces 1 {{.*}} attributes {ptl.over_batches}
// CHECK:           ptl.constant 2
// CHECK:           %[[SUM:.*]] = ptl.reduce sum
// CHECK:           %[[COUNT:.*]] = ptl.reduce sum
// CHECK:           ptl.yield %[[SUM]], %[[COUNT]]
// CHECK:         %[[TWO:.*]] = ptl.constant 2
// CHECK:         %[[MEAN:.*]] = ptl.elementwise div %[[T]]#0, %[[T]]#1
// CHECK:         %[[OUT:.*]] = ptl.elementwise mul %[[MEAN]], %[[TWO]]
// CHECK:         return %[[OUT]]
func.func @eval(%x: !x {ptl.role = "data"}, %w: !w {ptl.role = "weight"}, %ids: !i {ptl.role = "data"},
    %step: tensor<i64> {ptl.role = "step"}, %valid: tensor<i64> {ptl.role = "valid"}) -> !s {
  %two = ptl.constant 2 : !s
  %both = ptl.broadcast %two : !s -> !r
  %p = ptl.dot %x, %w over [embed] : (!x, !w) -> !r
  %q = ptl.elementwise mul %p, %both : (!r, !r) -> !r
  %sum = ptl.reduce sum %q over [batch] : !r -> !s
  %f = ptl.elementwise cast %ids : (!i) -> !r
  %count = ptl.reduce sum %f over [batch] : !r -> !s
  %mean = ptl.elementwise div %sum, %count : (!s, !s) -> !s
  %out = ptl.elementwise mul %mean, %two : (!s, !s) -> !s
  return %out : !s
}

// -----

!r = tensor<4xf32, #ptl.dims<[batch]>>

// A maximum of maxima is one, a sum of them isn't: the function stays whole.
// CHECK-LABEL: func @eval
// CHECK-NOT:     ptl.accumulate
func.func @eval(%x: !r {ptl.role = "data"}, %step: tensor<i64> {ptl.role = "step"},
    %valid: tensor<i64> {ptl.role = "valid"}) -> tensor<f32> {
  %top = ptl.reduce max %x over [batch] : !r -> tensor<f32>
  return %top : tensor<f32>
}

// -----

!r = tensor<4xf32, #ptl.dims<[batch]>>

// Nobody says how many samples are valid, so a mean has divided by the size of the batch already.
// CHECK-LABEL: func @eval
// CHECK-NOT:     ptl.accumulate
func.func @eval(%x: !r {ptl.role = "data"}, %step: tensor<i64> {ptl.role = "step"}) -> tensor<f32> {
  %sum = ptl.reduce sum %x over [batch] : !r -> tensor<f32>
  %c = ptl.constant 0.25 : tensor<f32>
  %mean = ptl.elementwise mul %sum, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %mean : tensor<f32>
}
