// RUN: ptl-run --all %s | FileCheck %s
// Values of element-wise functions, worked out by hand.

#x = #ptl.dims<[x]>

// CHECK-LABEL: @arithmetic
// CHECK-NEXT: value 0: [x=4] 3 0.5 -1 7
// CHECK-NEXT: value 1: [x=4] -1 -1.5 -5 1
// CHECK-NEXT: value 2: [x=4] 2 -0.5 -6 12
// CHECK-NEXT: value 3: [x=4] 0.5 -0.5 -1.5 1.33333337
// CHECK-NEXT: value 4: [x=4] 2 1 2 4
// CHECK-NEXT: value 5: [x=4] 1 -0.5 -3 3
// CHECK-NEXT: value 6: [x=4] 1 -0.5 9 64
func.func @arithmetic(%a: tensor<4xf32, #x> {run.value = [1.0, -0.5, -3.0, 4.0]},
                      %b: tensor<4xf32, #x> {run.value = [2.0, 1.0, 2.0, 3.0]})
    -> (tensor<4xf32, #x>, tensor<4xf32, #x>, tensor<4xf32, #x>, tensor<4xf32, #x>, tensor<4xf32, #x>,
        tensor<4xf32, #x>, tensor<4xf32, #x>) {
  %0 = ptl.elementwise add %a, %b : (tensor<4xf32, #x>, tensor<4xf32, #x>) -> tensor<4xf32, #x>
  %1 = ptl.elementwise sub %a, %b : (tensor<4xf32, #x>, tensor<4xf32, #x>) -> tensor<4xf32, #x>
  %2 = ptl.elementwise mul %a, %b : (tensor<4xf32, #x>, tensor<4xf32, #x>) -> tensor<4xf32, #x>
  %3 = ptl.elementwise div %a, %b : (tensor<4xf32, #x>, tensor<4xf32, #x>) -> tensor<4xf32, #x>
  %4 = ptl.elementwise max %a, %b : (tensor<4xf32, #x>, tensor<4xf32, #x>) -> tensor<4xf32, #x>
  %5 = ptl.elementwise min %a, %b : (tensor<4xf32, #x>, tensor<4xf32, #x>) -> tensor<4xf32, #x>
  %6 = ptl.elementwise pow %a, %b : (tensor<4xf32, #x>, tensor<4xf32, #x>) -> tensor<4xf32, #x>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<4xf32, #x>, tensor<4xf32, #x>, tensor<4xf32, #x>,
    tensor<4xf32, #x>, tensor<4xf32, #x>, tensor<4xf32, #x>, tensor<4xf32, #x>
}

// Integer division rounds down, the remainder has the divisor's sign; products wrap.
// CHECK-LABEL: @integers
// CHECK-NEXT: value 0: [x=4] 3 -4 -4 3
// CHECK-NEXT: value 1: [x=4] 1 1 -1 -1
// CHECK-NEXT: value 2: [x=4] 14 -14 -14 14
// CHECK-NEXT: value 3: -2147483648
func.func @integers(%a: tensor<4xi32, #x> {run.value = [7, -7, 7, -7]},
                    %b: tensor<4xi32, #x> {run.value = [2, 2, -2, -2]},
                    %c: tensor<i32> {run.value = [2147483647]}, %d: tensor<i32> {run.value = [1]})
    -> (tensor<4xi32, #x>, tensor<4xi32, #x>, tensor<4xi32, #x>, tensor<i32>) {
  %0 = ptl.elementwise div %a, %b : (tensor<4xi32, #x>, tensor<4xi32, #x>) -> tensor<4xi32, #x>
  %1 = ptl.elementwise mod %a, %b : (tensor<4xi32, #x>, tensor<4xi32, #x>) -> tensor<4xi32, #x>
  %2 = ptl.elementwise mul %a, %b : (tensor<4xi32, #x>, tensor<4xi32, #x>) -> tensor<4xi32, #x>
  %3 = ptl.elementwise add %c, %d : (tensor<i32>, tensor<i32>) -> tensor<i32>
  return %0, %1, %2, %3 : tensor<4xi32, #x>, tensor<4xi32, #x>, tensor<4xi32, #x>, tensor<i32>
}

// gelu is the tanh form: 0.5 (1 + tanh(sqrt(2/pi) 1.044715)) = 0.841192 at 1.
// CHECK-LABEL: @functions
// CHECK-NEXT: value 0: [x=3] 0.36787945 1 2.71828175
// CHECK-NEXT: value 1: [x=3] 0.268941432 0.5 0.731058598
// CHECK-NEXT: value 2: [x=3] -0.158808008 0 0.841192007
// CHECK-NEXT: value 3: [x=3] -0.268941432 0 0.731058598
// CHECK-NEXT: value 4: [x=3] 0 0 1
// CHECK-NEXT: value 5: [x=3] 1 0 1
// CHECK-NEXT: value 6: [x=3] -1 0 1
// CHECK-NEXT: value 7: [x=3] -0.761594176 0 0.761594176
func.func @functions(%a: tensor<3xf32, #x> {run.value = [-1.0, 0.0, 1.0]})
    -> (tensor<3xf32, #x>, tensor<3xf32, #x>, tensor<3xf32, #x>, tensor<3xf32, #x>, tensor<3xf32, #x>,
        tensor<3xf32, #x>, tensor<3xf32, #x>, tensor<3xf32, #x>) {
  %0 = ptl.elementwise exp %a : (tensor<3xf32, #x>) -> tensor<3xf32, #x>
  %1 = ptl.elementwise sigmoid %a : (tensor<3xf32, #x>) -> tensor<3xf32, #x>
  %2 = ptl.elementwise gelu %a : (tensor<3xf32, #x>) -> tensor<3xf32, #x>
  %3 = ptl.elementwise silu %a : (tensor<3xf32, #x>) -> tensor<3xf32, #x>
  %4 = ptl.elementwise relu %a : (tensor<3xf32, #x>) -> tensor<3xf32, #x>
  %5 = ptl.elementwise abs %a : (tensor<3xf32, #x>) -> tensor<3xf32, #x>
  %6 = ptl.elementwise sign %a : (tensor<3xf32, #x>) -> tensor<3xf32, #x>
  %7 = ptl.elementwise tanh %a : (tensor<3xf32, #x>) -> tensor<3xf32, #x>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<3xf32, #x>, tensor<3xf32, #x>, tensor<3xf32, #x>,
    tensor<3xf32, #x>, tensor<3xf32, #x>, tensor<3xf32, #x>, tensor<3xf32, #x>, tensor<3xf32, #x>
}

// CHECK-LABEL: @more_functions
// CHECK-NEXT: value 0: [x=2] 0.5 0.25
// CHECK-NEXT: value 1: [x=2] 2 4
// CHECK-NEXT: value 2: [x=2] 0.25 0.0625
// CHECK-NEXT: value 3: [x=2] 1.38629436 2.77258873
// CHECK-NEXT: value 4: [x=2] -4 -16
// CHECK-NEXT: value 5: [x=2] -0.756802499 -0.287903309
// CHECK-NEXT: value 6: [x=2] -0.653643608 -0.957659483
func.func @more_functions(%a: tensor<2xf32, #x> {run.value = [4.0, 16.0]})
    -> (tensor<2xf32, #x>, tensor<2xf32, #x>, tensor<2xf32, #x>, tensor<2xf32, #x>, tensor<2xf32, #x>,
        tensor<2xf32, #x>, tensor<2xf32, #x>) {
  %0 = ptl.elementwise rsqrt %a : (tensor<2xf32, #x>) -> tensor<2xf32, #x>
  %1 = ptl.elementwise sqrt %a : (tensor<2xf32, #x>) -> tensor<2xf32, #x>
  %2 = ptl.elementwise recip %a : (tensor<2xf32, #x>) -> tensor<2xf32, #x>
  %3 = ptl.elementwise log %a : (tensor<2xf32, #x>) -> tensor<2xf32, #x>
  %4 = ptl.elementwise neg %a : (tensor<2xf32, #x>) -> tensor<2xf32, #x>
  %5 = ptl.elementwise sin %a : (tensor<2xf32, #x>) -> tensor<2xf32, #x>
  %6 = ptl.elementwise cos %a : (tensor<2xf32, #x>) -> tensor<2xf32, #x>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<2xf32, #x>, tensor<2xf32, #x>, tensor<2xf32, #x>,
    tensor<2xf32, #x>, tensor<2xf32, #x>, tensor<2xf32, #x>, tensor<2xf32, #x>
}

// Truncation, not floor; a choice; comparisons and logic.
// CHECK-LABEL: @conversions
// CHECK-NEXT: value 0: [x=4] -1 0 2 2
// CHECK-NEXT: value 1: [x=4] -2 -1 2 2
// CHECK-NEXT: value 2: [x=4] -1 -0 2 3
// CHECK-NEXT: value 3: [x=4] 1 1 0 0
// CHECK-NEXT: value 4: [x=4] -1.5 -0.5 9 9
// CHECK-NEXT: value 5: [x=4] 0 1 0 0
// CHECK-NEXT: value 6: [x=4] 0 0 1 1
func.func @conversions(%a: tensor<4xf32, #x> {run.value = [-1.5, -0.5, 2.0, 2.5]},
                       %b: tensor<4xf32, #x> {run.value = [9.0]},
                       %zero: tensor<4xf32, #x> {run.value = [0.0]},
                       %one: tensor<4xf32, #x> {run.value = [-1.0]})
    -> (tensor<4xi32, #x>, tensor<4xf32, #x>, tensor<4xf32, #x>, tensor<4xi1, #x>, tensor<4xf32, #x>,
        tensor<4xi32, #x>, tensor<4xi1, #x>) {
  %0 = ptl.elementwise cast %a : (tensor<4xf32, #x>) -> tensor<4xi32, #x>
  %1 = ptl.elementwise floor %a : (tensor<4xf32, #x>) -> tensor<4xf32, #x>
  %2 = ptl.elementwise ceil %a : (tensor<4xf32, #x>) -> tensor<4xf32, #x>
  %3 = ptl.elementwise lt %a, %zero : (tensor<4xf32, #x>, tensor<4xf32, #x>) -> tensor<4xi1, #x>
  %4 = ptl.elementwise select %3, %a, %b : (tensor<4xi1, #x>, tensor<4xf32, #x>, tensor<4xf32, #x>) -> tensor<4xf32, #x>
  %5 = ptl.elementwise ge %a, %one : (tensor<4xf32, #x>, tensor<4xf32, #x>) -> tensor<4xi1, #x>
  %6 = ptl.elementwise and %3, %5 : (tensor<4xi1, #x>, tensor<4xi1, #x>) -> tensor<4xi1, #x>
  %7 = ptl.elementwise cast %6 : (tensor<4xi1, #x>) -> tensor<4xi32, #x>
  %8 = ptl.elementwise not %3 : (tensor<4xi1, #x>) -> tensor<4xi1, #x>
  return %0, %1, %2, %3, %4, %7, %8 : tensor<4xi32, #x>, tensor<4xf32, #x>, tensor<4xf32, #x>,
    tensor<4xi1, #x>, tensor<4xf32, #x>, tensor<4xi32, #x>, tensor<4xi1, #x>
}

// gelu'(0) = 1/2; silu'(1) = s (1 + 1 - s) with s = 0.731058579.
// CHECK-LABEL: @derivatives
// CHECK-NEXT: value 0: [x=2] 5 10.8296
// CHECK-NEXT: value 1: [x=2] 5 9.27670479
func.func @derivatives(%a: tensor<2xf32, #x> {run.value = [0.0, 1.0]},
                       %dy: tensor<2xf32, #x> {run.value = [10.0]})
    -> (tensor<2xf32, #x>, tensor<2xf32, #x>) {
  %0 = ptl.elementwise gelu_grad %a, %dy : (tensor<2xf32, #x>, tensor<2xf32, #x>) -> tensor<2xf32, #x>
  %1 = ptl.elementwise silu_grad %a, %dy : (tensor<2xf32, #x>, tensor<2xf32, #x>) -> tensor<2xf32, #x>
  return %0, %1 : tensor<2xf32, #x>, tensor<2xf32, #x>
}
