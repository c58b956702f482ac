// RUN: ptl-opt %s --split-input-file --fuse-outline-single --memory-plan-buffers | FileCheck %s

!x = tensor<512xf32, #ptl.dims<[embed]>>
!p = tensor<256xf32, #ptl.dims<[part]>>
spmd.mesh @mesh [dp = 2]

// From start to wait a collective has the memory of what it reads and of what it makes: neither %d nor %e takes the place of %p, which
// nobody else reads. Behind the wait %f does.
// CHECK-LABEL: func @gathers
// CHECK: rt.kernel {{.*}} {rt.buffers = [#rt.buffer<micro, offset = [[P:[0-9]+]], rows = 1, cols = 256
// CHECK: spmd.bucket_all_gather {{.*}}rt.buffers = [#rt.buffer<micro, offset = [[V:[0-9]+]], rows = 1, cols = 512
// CHECK: rt.kernel {{.*}} {rt.buffers = [#rt.buffer<micro, offset = [[D:[0-9]+]], rows = 1, cols = 256
// CHECK: rt.kernel {{.*}} {rt.buffers = [#rt.buffer<micro, offset = [[D]], rows = 1, cols = 256
// CHECK: rt.wait {{.*}} {rt.buffers = [#rt.buffer<micro, offset = [[V]], rows = 1, cols = 512
// CHECK: rt.kernel {{.*}} {rt.buffers = [#rt.buffer<micro, offset = [[P]], rows = 1, cols = 256
func.func @gathers(%q: !p) -> (!x, !p, !p) {
  %p = ptl.elementwise neg %q : (!p) -> !p
  %v = spmd.bucket_all_gather %p over @mesh [dp] {rt.started} : !p -> !x
  %d = ptl.elementwise exp %q : (!p) -> !p
  %e = ptl.elementwise neg %d : (!p) -> !p
  %w = rt.wait %v keeps %p : !p : !x -> !x
  %f = ptl.elementwise sin %q : (!p) -> !p
  return %w, %e, %f : !x, !p, !p
}

// -----

!x = tensor<512xf32, #ptl.dims<[embed]>>
spmd.mesh @mesh [dp = 2]

// A sum works in place, and is finished in the loop's only micro-batch: the kernel, the collective and the result share the place behind
// the loop, without a copy.
// CHECK-LABEL: func @step
// CHECK: ptl.accumulate pieces 1
// CHECK: %[[K:.*]] = rt.kernel {{.*}} {rt.buffers = [#rt.buffer<persistent, offset = [[G:[0-9]+]],
// CHECK: spmd.all_reduce sum %[[K]] {{.*}}rt.buffers = [#rt.buffer<persistent, offset = [[G]],
// CHECK: %[[E:.*]] = rt.kernel
// CHECK: %[[W:.*]] = rt.wait {{.*}} {rt.buffers = [#rt.buffer<persistent, offset = [[G]],
// CHECK-NEXT: ptl.yield %[[W]], %[[E]]
func.func @step(%x: !x) -> (!x, !x) {
  %s:2 = ptl.accumulate pieces 1 (%k) -> !x, !x {
    %g = ptl.elementwise neg %x : (!x) -> !x
    %r = spmd.all_reduce sum %g over @mesh [dp] {rt.started} : !x -> !x
    %e = ptl.elementwise exp %x : (!x) -> !x
    %w = rt.wait %r : !x -> !x
    ptl.yield %w, %e : !x, !x
  }
  return %s#0, %s#1 : !x, !x
}

// -----

!x = tensor<512xf32, #ptl.dims<[embed]>>
!p = tensor<256xf32, #ptl.dims<[part]>>
spmd.mesh @mesh [dp = 2]

// A part leaves its bucket behind the wait, so that the bucket's memory is free for the next one.
// CHECK-LABEL: func @step
// CHECK: spmd.bucket_reduce_scatter
// CHECK: %[[W:.*]] = rt.wait
// CHECK-NEXT: %[[C:.*]] = rt.kernel {{.*}}(%[[W]]){{.*}} {rt.accumulate = array<i1: true>, rt.buffers = [#rt.buffer<persistent
// CHECK: rt.kernel
// CHECK: ptl.yield %[[C]]
func.func @step(%x: !x) -> (!p, !x) {
  %s:2 = ptl.accumulate pieces 2 (%k) -> !p, !x {
    %g = ptl.elementwise neg %x : (!x) -> !x
    %r = spmd.bucket_reduce_scatter sum %g over @mesh [dp] {rt.started} : !x -> !p
    %e = ptl.elementwise exp %x : (!x) -> !x
    %w = rt.wait %r : !p -> !p
    %f = ptl.elementwise neg %e : (!x) -> !x
    ptl.yield %w, %f : !p, !x
  }
  return %s#0, %s#1 : !p, !x
}
