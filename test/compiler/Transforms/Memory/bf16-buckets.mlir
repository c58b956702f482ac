// RUN: ptl-opt %s --fuse-outline-single --memory-plan-buffers | FileCheck %s

// An optimizer's bucket in mixed precision: masters, gradients, momentum and the copies of the weights are an area each, and an
// element has the same number in all of them: %v begins at element 640 = 8 x 80, after a weight with padded rows.
// CHECK-LABEL: func @step
// CHECK-SAME:    #rt.buffer<persistent, offset = 0, rows = 8, cols = 64, stride = 80>
// CHECK-SAME:    #rt.buffer<persistent, offset = 2560, rows = 1, cols = 3, stride = 3>
// CHECK-SAME:    #rt.buffer<persistent, offset = 8192, rows = 8, cols = 64, stride = 80>
// CHECK-SAME:    #rt.buffer<persistent, offset = 10752, rows = 1, cols = 3, stride = 3>
// CHECK:         rt.kernel rows(%arg0) {{.*}} {rt.buffers = [#rt.buffer<persistent, offset = 12288, rows = 8, cols = 64, stride = 80>]}
// CHECK:         rt.kernel rows(%arg1) {{.*}} {rt.buffers = [#rt.buffer<persistent, offset = 13568, rows = 1, cols = 3, stride = 3>]}
// CHECK:         ptl.accumulate {{.*}} {{.*}}#rt.buffer<persistent, offset = 4096, rows = 8, cols = 64, stride = 80>, #rt.buffer<persistent, offset = 5376, rows = 1, cols = 3, stride = 3>
// CHECK:         rt.kernel flat{{.*}} {rt.bucket = 1024 : i64
#ef = #ptl.dims<[embed, ffn]>
#k = #ptl.dims<[k]>
!w = tensor<8x64xf32, #ef>
!v = tensor<3xf32, #k>
!w16 = tensor<8x64xbf16, #ef>
!v16 = tensor<3xbf16, #k>
func.func @step(%w: !w {ptl.role = "weight", ptl.path = "w"}, %v: !v {ptl.role = "weight", ptl.path = "v"},
                %mw: !w {ptl.role = "state", ptl.path = "w#m"}, %mv: !v {ptl.role = "state", ptl.path = "v#m"},
                %lr: tensor<f32> {ptl.role = "hyper", ptl.path = "opt0.lr"}, %step: tensor<i64> {ptl.role = "step"})
    -> (!w {ptl.role = "weight", ptl.path = "w"}, !v {ptl.role = "weight", ptl.path = "v"},
        !w {ptl.role = "state", ptl.path = "w#m"}, !v {ptl.role = "state", ptl.path = "v#m"}) {
  %w16 = ptl.elementwise cast %w : (!w) -> !w16
  %v16 = ptl.elementwise cast %v : (!v) -> !v16
  %g:2 = ptl.accumulate pieces 1 (%i) -> !w16, !v16 {
    %gw = ptl.elementwise neg %w16 : (!w16) -> !w16
    %gv = ptl.elementwise neg %v16 : (!v16) -> !v16
    ptl.yield %gw, %gv : !w16, !v16
  }
  %r:2, %s:2 = ptl.optimize lion weights(%w, %v : !w, !v) grads(%g#0, %g#1 : !w16, !v16) states(%mw, %mv : !w, !v)
    hypers(%lr, %lr, %lr, %lr, %lr : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) step %step : tensor<i64> names ["w", "v"]
    -> (!w, !v) states(!w, !v)
  return %r#0, %r#1, %s#0, %s#1 : !w, !v, !w, !v
}
