// RUN: ptl-opt %s --split-input-file --memory-plan-buffers --verify-diagnostics | FileCheck %s

!w = tensor<20x17xf32, #ptl.dims<[ffn, embed]>>
!b = tensor<4xf32, #ptl.dims<[embed]>>
!p = tensor<172xf32, #ptl.dims<["zero.0"]>>

// Two weights of 20 x 17 (rows of 17, stride 17) and 4 elements lie 512 elements apart; parts are of 512 with all padding. The part
// of rank k lies k * 2048 bytes behind the beginning.
spmd.mesh @mesh [dp = 2]
// CHECK-LABEL: func @step
// CHECK-SAME: %[[W:[^:]*]]: tensor<20x17xf32, {{.*}}rt.buffers = [#rt.buffer<persistent, offset = [[BEGIN:[0-9]+]], rows = 20, cols = 17, stride = 17>]
// CHECK-SAME: rows = 1, cols = 4, stride = 4>]
func.func @step(%w: !w {ptl.path = "w", ptl.role = "weight"}, %b: !b {ptl.path = "b", ptl.role = "weight"}, %g: !p, %h: tensor<f32>,
    %s: tensor<i64>) -> (!w, !b) {
  // CHECK: %[[P:.*]] = spmd.bucket_slice
  // CHECK-SAME: rt.buffers = [#rt.buffer<persistent, offset = [[BEGIN]], rows = 1, cols = 512, stride = 512, part = 2048, axes = ["dp"]>]
  // CHECK-SAME: -> tensor<512xf32, #ptl.dims<["zero.0"]>>
  %p = spmd.bucket_slice %w, %b over @mesh [dp] : !w, !b -> !p
  // CHECK: rt.kernel flat
  // CHECK-SAME: rt.bucket = 512
  // CHECK-SAME: rt.members = [#rt.buffer<persistent, offset = 0, rows = 20, cols = 17, stride = 17, part = 2048, axes = ["dp"]>, #rt.buffer<persistent, offset = 2048, rows = 1, cols = 4
  %q = rt.kernel flat(%p, %g, %h, %s) iterate [] : (!p, !p, tensor<f32>, tensor<i64>) -> !p {
  ^bb0(%p0: !p, %g0: !p, %h0: tensor<f32>, %s0: tensor<i64>):
    %n = ptl.optimize sgd weights(%p0 : !p) grads(%g0 : !p) hypers(%h0, %h0, %h0, %h0, %h0 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
      step %s0 : tensor<i64> names ["zero.0"] -> (!p)
    rt.return %n : !p
  }
  // CHECK: spmd.bucket_all_gather
  // CHECK-SAME: rt.buffers = [#rt.buffer<persistent, offset = [[BEGIN]], rows = 20
  %a:2 = spmd.bucket_all_gather %q over @mesh [dp] : !p -> !w, !b
  return %a#0, %a#1 : !w, !b
}

// -----

!w = tensor<8x4xf32, #ptl.dims<[ffn, embed]>>
spmd.mesh @mesh [dp = 2]
func.func @step(%w: !w) -> (tensor<16xf32, #ptl.dims<["zero.0"]>>, tensor<16xf32, #ptl.dims<["zero.1"]>>) {
  %p = spmd.bucket_slice %w over @mesh [dp] : !w -> tensor<16xf32, #ptl.dims<["zero.0"]>>
  // expected-error @+1 {{a tensor can't lie in two buckets}}
  %q = spmd.bucket_slice %w over @mesh [dp] : !w -> tensor<16xf32, #ptl.dims<["zero.1"]>>
  return %p, %q : tensor<16xf32, #ptl.dims<["zero.0"]>>, tensor<16xf32, #ptl.dims<["zero.1"]>>
}
