// RUN: ptl-run --all --f64 %s | FileCheck %s
// Attention with scores 0 and ln 3: weights 1/4 and 3/4 where both keys are seen.

#sd = #ptl.dims<[s, d]>
#s = #ptl.dims<[s]>
#kd = #ptl.dims<[k, d]>
#sk = #ptl.dims<[s, k]>
#shd = #ptl.dims<[s, h, d]>
#sgd = #ptl.dims<[s, g, d]>
#sh = #ptl.dims<[s, h]>

// q k = (0, ln 3) for every query; values 0 and 8, so 6 with both keys; lse = ln 4.
// The first causal query sees the first key only, and with window 1 each sees its own.
// CHECK-LABEL: @self
// CHECK-NEXT: value 0: [s=2, d=1] 6 6
// CHECK-NEXT: value 1: [s=2] 1.38629436 1.38629436
// CHECK-NEXT: value 2: [s=2, d=1] 0 6
// CHECK-NEXT: value 3: [s=2, d=1] 0 8
func.func @self(%q: tensor<2x1xf32, #sd> {run.value = [2.0, 2.0]},
                %k: tensor<2x1xf32, #sd> {run.value = [0.0, 1.0986122886681098]},
                %v: tensor<2x1xf32, #sd> {run.value = [0.0, 8.0]})
    -> (tensor<2x1xf32, #sd>, tensor<2xf32, #s>, tensor<2x1xf32, #sd>, tensor<2x1xf32, #sd>) {
  %y, %lse = ptl.attention %q, %k, %v over s depth d -> d scale 0.5 : (tensor<2x1xf32, #sd>, tensor<2x1xf32, #sd>, tensor<2x1xf32, #sd>) -> (tensor<2x1xf32, #sd>, tensor<2xf32, #s>)
  %c, %clse = ptl.attention %q, %k, %v over s depth d -> d scale 0.5 causal : (tensor<2x1xf32, #sd>, tensor<2x1xf32, #sd>, tensor<2x1xf32, #sd>) -> (tensor<2x1xf32, #sd>, tensor<2xf32, #s>)
  %w, %wlse = ptl.attention %q, %k, %v over s depth d -> d scale 0.5 causal window 1 : (tensor<2x1xf32, #sd>, tensor<2x1xf32, #sd>, tensor<2x1xf32, #sd>) -> (tensor<2x1xf32, #sd>, tensor<2xf32, #s>)
  return %y, %lse, %c, %w : tensor<2x1xf32, #sd>, tensor<2xf32, #s>, tensor<2x1xf32, #sd>, tensor<2x1xf32, #sd>
}

// Keys of a dimension of their own and a mask that hides the second from the first query.
// CHECK-LABEL: @cross
// CHECK-NEXT: value 0: [s=2, d=1] 0 6
// CHECK-NEXT: value 1: [s=2, d=1] 0 6
func.func @cross(%q: tensor<2x1xf32, #sd> {run.value = [1.0, 1.0]},
                 %k: tensor<2x1xf32, #kd> {run.value = [0.0, 1.0986122886681098]},
                 %v: tensor<2x1xf32, #kd> {run.value = [0.0, 8.0]},
                 %m: tensor<2x2xi1, #sk> {run.value = [true, false, true, true]},
                 %k2: tensor<2x1xf32, #sd> {run.value = [0.0, 1.0986122886681098]},
                 %v2: tensor<2x1xf32, #sd> {run.value = [0.0, 8.0]},
                 %m2: tensor<2x2xi1, #ptl.dims<["s.query", s]>> {run.value = [true, false, true, true]})
    -> (tensor<2x1xf32, #sd>, tensor<2x1xf32, #sd>) {
  %y, %lse = ptl.attention %q, %k, %v mask %m over k depth d -> d scale 1.0 : (tensor<2x1xf32, #sd>, tensor<2x1xf32, #kd>, tensor<2x1xf32, #kd>, tensor<2x2xi1, #sk>) -> (tensor<2x1xf32, #sd>, tensor<2xf32, #s>)
  %z, %zlse = ptl.attention %q, %k2, %v2 mask %m2 over s depth d -> d scale 1.0 : (tensor<2x1xf32, #sd>, tensor<2x1xf32, #sd>, tensor<2x1xf32, #sd>, tensor<2x2xi1, #ptl.dims<["s.query", s]>>) -> (tensor<2x1xf32, #sd>, tensor<2xf32, #s>)
  return %y, %z : tensor<2x1xf32, #sd>, tensor<2x1xf32, #sd>
}

// Heads 0 and 1 use key head 0, heads 2 and 3 key head 1.
// CHECK-LABEL: @groups
// CHECK-NEXT: value 0: [s=1, h=4, d=1] 5 5 7 7
func.func @groups(%q: tensor<1x4x1xf32, #shd> {run.value = [1.0]}, %k: tensor<1x2x1xf32, #sgd> {run.value = [1.0]},
                  %v: tensor<1x2x1xf32, #sgd> {run.value = [5.0, 7.0]}) -> tensor<1x4x1xf32, #shd> {
  %y, %lse = ptl.attention %q, %k, %v over s depth d -> d scale 1.0 group [h] -> [g] causal : (tensor<1x4x1xf32, #shd>, tensor<1x2x1xf32, #sgd>, tensor<1x2x1xf32, #sgd>) -> (tensor<1x4x1xf32, #shd>, tensor<1x4xf32, #sh>)
  return %y : tensor<1x4x1xf32, #shd>
}

// p = (1/4, 3/4) for each of the two queries, dy = 1: dv sums p over queries; ds = p (dy v - dy y) =
// (1/4 (0 - 6), 3/4 (8 - 6)) = (-3/2, 3/2). dq = scale ds k = 3/4 ln 3; dk = scale sum ds q = (-3, 3).
// CHECK-LABEL: @gradient
// CHECK-NEXT: value 0: [s=2, d=1] 0.823959217 0.823959217
// CHECK-NEXT: value 1: [s=2, d=1] -3 3
// CHECK-NEXT: value 2: [s=2, d=1] 0.5 1.5
func.func @gradient(%q: tensor<2x1xf32, #sd> {run.value = [2.0, 2.0]},
                    %k: tensor<2x1xf32, #sd> {run.value = [0.0, 1.0986122886681098]},
                    %v: tensor<2x1xf32, #sd> {run.value = [0.0, 8.0]},
                    %dy: tensor<2x1xf32, #sd> {run.value = [1.0]})
    -> (tensor<2x1xf32, #sd>, tensor<2x1xf32, #sd>, tensor<2x1xf32, #sd>) {
  %y, %lse = ptl.attention %q, %k, %v over s depth d -> d scale 0.5 : (tensor<2x1xf32, #sd>, tensor<2x1xf32, #sd>, tensor<2x1xf32, #sd>) -> (tensor<2x1xf32, #sd>, tensor<2xf32, #s>)
  %dq, %dk, %dv = ptl.attention_grad %dy, %q, %k, %v, %y, %lse over s depth d -> d scale 0.5 : (tensor<2x1xf32, #sd>, tensor<2x1xf32, #sd>, tensor<2x1xf32, #sd>, tensor<2x1xf32, #sd>, tensor<2x1xf32, #sd>, tensor<2xf32, #s>) -> (tensor<2x1xf32, #sd>, tensor<2x1xf32, #sd>, tensor<2x1xf32, #sd>)
  return %dq, %dk, %dv : tensor<2x1xf32, #sd>, tensor<2x1xf32, #sd>, tensor<2x1xf32, #sd>
}
