// RUN: ptl-opt %s --split-input-file --fuse-outline-single --memory-plan-buffers | FileCheck %s

#be = #ptl.dims<[batch, embed]>
#bf = #ptl.dims<[batch, ffn]>
#ef = #ptl.dims<[embed, ffn]>

// Rows of 256 bytes or more start at odd numbers of lines. %u dies in the next kernel, which takes its place;
// %v, which comes later, takes that of the result that nobody reads any more.
// CHECK-LABEL: func @logits
// CHECK-SAME:    rows = 8, cols = 64, stride = 80>
// CHECK:         rt.kernel rows(%arg0){{.*}} {rt.buffers = [#rt.buffer<micro, offset = 0, rows = 8, cols = 64, stride = 80>]}
// CHECK:         rt.kernel rows{{.*}} {rt.buffers = [#rt.buffer<micro, offset = 0, rows = 8, cols = 64, stride = 80>]}
// CHECK:         rt.kernel matmul{{.*}} {rt.buffers = [#rt.buffer<micro, offset = 2560, rows = 8, cols = 64, stride = 80>]}
func.func @logits(%x: tensor<8x64xf32, #be>, %w: tensor<64x64xf32, #ef>) -> tensor<8x64xf32, #bf> {
  %u = ptl.elementwise exp %x : (tensor<8x64xf32, #be>) -> tensor<8x64xf32, #be>
  %g = ptl.elementwise neg %u : (tensor<8x64xf32, #be>) -> tensor<8x64xf32, #be>
  %y = ptl.dot %g, %w over [embed] : (tensor<8x64xf32, #be>, tensor<64x64xf32, #ef>) -> tensor<8x64xf32, #bf>
  return %y : tensor<8x64xf32, #bf>
}

// -----

#bs = #ptl.dims<[batch, seq]>
#b = #ptl.dims<[batch]>

// A sum over micro-batches is persistent; the kernel that makes a piece adds to it. What is yielded twice gets a copy.
// CHECK-LABEL: func @step
// CHECK:         %[[S:.*]]:2 = ptl.accumulate pieces 2
// CHECK:         rt.kernel rows{{.*}} {rt.accumulate = array<i1: true>, rt.buffers = [#rt.buffer<persistent
// CHECK:         rt.kernel rows{{.*}} {rt.accumulate = array<i1: true>, rt.buffers = [#rt.buffer<persistent
func.func @step(%x: tensor<4x8xf32, #bs> {ptl.role = "data", ptl.path = "x"}) -> (tensor<f32> {ptl.role = "loss"}, tensor<f32> {ptl.role = "metric", ptl.path = "again"}) {
  %s:2 = ptl.accumulate pieces 2 (%k) -> tensor<f32>, tensor<f32> {
    %p = ptl.microbatch %x[%k] of 2 along batch : tensor<4x8xf32, #bs> -> tensor<2x8xf32, #bs>
    %t = ptl.reduce sum %p over [batch, seq] : tensor<2x8xf32, #bs> -> tensor<f32>
    ptl.yield %t, %t : tensor<f32>, tensor<f32>
  }
  return %s#0, %s#1 : tensor<f32>, tensor<f32>
}

// -----

#bs = #ptl.dims<[batch, seq]>
spmd.mesh @mesh [dp = 2]

// A piece of a field lies elsewhere in each micro-batch: a collective, which reads one place, gets a copy.
// CHECK-LABEL: func @step
// CHECK:         %[[P:.*]] = ptl.microbatch
// CHECK:         %[[C:.*]] = rt.kernel rows(%[[P]])
// CHECK:         spmd.all_gather %[[C]] along batch
func.func @step(%x: tensor<4x8xf32, #bs> {ptl.role = "data", ptl.path = "x"}) -> (tensor<f32> {ptl.role = "loss"}) {
  %s = ptl.accumulate pieces 2 (%k) -> tensor<f32> {
    %p = ptl.microbatch %x[%k] of 2 along batch : tensor<4x8xf32, #bs> -> tensor<2x8xf32, #bs>
    %g = spmd.all_gather %p along batch over @mesh [dp] : tensor<2x8xf32, #bs> -> tensor<4x8xf32, #bs>
    %t = ptl.reduce sum %g over [batch, seq] : tensor<4x8xf32, #bs> -> tensor<f32>
    ptl.yield %t : tensor<f32>
  }
  return %s : tensor<f32>
}

// -----

#bv = #ptl.dims<[batch, v]>
#be = #ptl.dims<[batch, e]>
#ve = #ptl.dims<[v, e]>
#b = #ptl.dims<[batch]>

// Values of the step itself are persistent, but not what lives inside of a loop over pieces, be it the only thing there.
// CHECK-LABEL: func @step
// CHECK:         rt.chunks 2 along batch {{.*}}rt.buffers = [#rt.buffer<persistent
// CHECK:         rt.kernel matmul{{.*}}rt.buffers = [#rt.buffer<micro, offset = 0, rows = 4, cols = 64
// CHECK:         rt.kernel rows{{.*}}rt.buffers = [#rt.buffer<persistent, {{.*}}, step = 16>
func.func @step(%x: tensor<8x6xf32, #be> {ptl.role = "data", ptl.path = "x"}, %w: tensor<64x6xf32, #ve> {ptl.role = "weight", ptl.path = "w"}) -> (tensor<8xf32, #b> {ptl.role = "metric", ptl.path = "m"}) {
  %r = rt.chunks 2 along batch (%k) -> tensor<8xf32, #b> {
    %p = ptl.microbatch %x[%k] of 2 along batch : tensor<8x6xf32, #be> -> tensor<4x6xf32, #be>
    %z = ptl.dot %p, %w over [e] : (tensor<4x6xf32, #be>, tensor<64x6xf32, #ve>) -> tensor<4x64xf32, #bv>
    %y = ptl.reduce sum %z over [v] : tensor<4x64xf32, #bv> -> tensor<4xf32, #b>
    rt.return %y : tensor<4xf32, #b>
  }
  return %r : tensor<8xf32, #b>
}

// -----

#bv = #ptl.dims<[batch, v]>
#be = #ptl.dims<[batch, e]>
#ve = #ptl.dims<[v, e]>
#b = #ptl.dims<[batch]>

// In a forward function the pieces' memory is one more value, beside what lives while the loop runs.
// CHECK-LABEL: func @eval
// CHECK:         rt.kernel rows{{.*}}rt.buffers = [#rt.buffer<micro, offset = [[U:[0-9]+]], rows = 8, cols = 6
// CHECK:         rt.chunks 2 along batch
// CHECK-NOT:     rt.kernel matmul{{.*}}#rt.buffer<micro, offset = [[U]], rows = 4, cols = 64
// CHECK:         rt.kernel matmul{{.*}}#rt.buffer<micro, offset = {{[0-9]+}}, rows = 4, cols = 64
func.func @eval(%x: tensor<8x6xf32, #be> {ptl.role = "data", ptl.path = "x"}, %w: tensor<64x6xf32, #ve> {ptl.role = "weight", ptl.path = "w"}) -> (tensor<8xf32, #b> {ptl.role = "metric", ptl.path = "m"}) {
  %u = ptl.elementwise exp %x : (tensor<8x6xf32, #be>) -> tensor<8x6xf32, #be>
  %r = rt.chunks 2 along batch (%k) -> tensor<8xf32, #b> {
    %p = ptl.microbatch %u[%k] of 2 along batch : tensor<8x6xf32, #be> -> tensor<4x6xf32, #be>
    %z = ptl.dot %p, %w over [e] : (tensor<4x6xf32, #be>, tensor<64x6xf32, #ve>) -> tensor<4x64xf32, #bv>
    %y = ptl.reduce sum %z over [v] : tensor<4x64xf32, #bv> -> tensor<4xf32, #b>
    rt.return %y : tensor<4xf32, #b>
  }
  return %r : tensor<8xf32, #b>
}
