// RUN: ptl-native %s --tolerance 3e-6 "--passes=fuse-expand-rows,cse,fuse-rows,fuse-outline-single,fuse-chunk-rows{threshold=2048 min-rows=1},memory-plan-buffers" | FileCheck %s
// RUN: ptl-opt %s --fuse-expand-rows --fuse-rows --fuse-outline-single "--fuse-chunk-rows=threshold=2048 min-rows=1" --memory-plan-buffers | FileCheck %s --check-prefix=PLAN
// CHECK: 6 of 6 results agree

// A head in two micro-batches of two pieces: the gradient of the weight is added up over both, straight in its place;
// the loss, which shares a kernel with the weights' other sum, over the pieces only, and then copied to the step's sum.
// PLAN: rt.chunks 2 along batch {{.*}}rt.accumulate = array<i1: {{.*}}true
// PLAN: rt.kernel matmul{{.*}}rt.buffers = [#rt.buffer<micro, offset = [[Z:[0-9]+]], {{.*}}cols = 40
// PLAN: rt.kernel rows{{.*}}rt.accumulate = {{.*}}#rt.buffer<micro, offset = [[Z]], {{.*}}cols = 40
// PLAN: rt.kernel matmul{{.*}}rt.buffers = [#rt.buffer<{{.*}}step = {{[1-9][0-9]*}}>]
#bs = #ptl.dims<[batch, seq]>
#bse = #ptl.dims<[batch, seq, embed]>
#bsv = #ptl.dims<[batch, seq, vocab]>
#ve = #ptl.dims<[vocab, embed]>
#v = #ptl.dims<[vocab]>
#b = #ptl.dims<[batch]>
!x = tensor<4x5x6xf32, #bse>
!w = tensor<40x6xf32, #ve>
!z = tensor<4x5x40xf32, #bsv>
!ids = tensor<4x5xi32, #bs>
!row = tensor<4x5xf32, #bs>
func.func @step(%w: !w {ptl.role = "weight", ptl.path = "w"}, %c: tensor<40xf32, #v> {ptl.role = "weight", ptl.path = "c"},
                %field: tensor<8x5x6xf32, #bse> {ptl.role = "data", ptl.path = "x"}, %labels: tensor<8x5xi32, #bs> {ptl.role = "data", ptl.path = "t"})
    -> (tensor<f32> {ptl.role = "loss"}, !w {ptl.role = "grad", ptl.path = "w"}, tensor<40xf32, #v> {ptl.role = "grad", ptl.path = "c"},
        !x {ptl.role = "metric", ptl.path = "dx"}, tensor<f32> {ptl.role = "metric", ptl.path = "positions"}, tensor<f32> {ptl.role = "metric", ptl.path = "norm"}) {
  %r:5 = ptl.accumulate pieces 2 (%k) -> tensor<f32>, !w, tensor<40xf32, #v>, !x, tensor<f32> {
    %x = ptl.microbatch %field[%k] of 2 along batch : tensor<8x5x6xf32, #bse> -> !x
    %t = ptl.microbatch %labels[%k] of 2 along batch : tensor<8x5xi32, #bs> -> !ids
    %u = ptl.dot %x, %w over [embed] : (!x, !w) -> !z
    %cb = ptl.broadcast %c : tensor<40xf32, #v> -> !z
    %z = ptl.elementwise add %u, %cb : (!z, !z) -> !z
    %l, %lse = ptl.cross_entropy %z, %t over vocab : (!z, !ids) -> (!row, !row)
    %i = ptl.iota batch {cut = #spmd.cuts<[batch global 8 micro 2]>} : tensor<4xi32, #b>
    %f = ptl.elementwise cast %i : (tensor<4xi32, #b>) -> tensor<4xf32, #b>
    %fb = ptl.broadcast %f : tensor<4xf32, #b> -> !row
    %lf = ptl.elementwise mul %l, %fb : (!row, !row) -> !row
    %positions = ptl.reduce sum %lf over [batch, seq] : !row -> tensor<f32>
    %s = ptl.reduce sum %l over [batch, seq] : !row -> tensor<f32>
    %half = ptl.constant 0.5 : tensor<f32>
    %loss = ptl.elementwise mul %s, %half : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %one = ptl.constant 1 : !row
    %dz = ptl.cross_entropy_grad %one, %z, %t, %lse over vocab : (!row, !z, !ids, !row) -> !z
    %dx = ptl.dot %dz, %w over [vocab] : (!z, !w) -> !x
    %dw = ptl.dot %dz, %x over [batch, seq] : (!z, !x) -> !w
    %dc = ptl.reduce sum %dz over [batch, seq] : !z -> tensor<40xf32, #v>
    ptl.yield %loss, %dw, %dc, %dx, %positions : tensor<f32>, !w, tensor<40xf32, #v>, !x, tensor<f32>
  }
  %norm = ptl.global_norm %r#1, %r#2 : (!w, tensor<40xf32, #v>) -> tensor<f32>
  return %r#0, %r#1, %r#2, %r#3, %r#4, %norm : tensor<f32>, !w, tensor<40xf32, #v>, !x, tensor<f32>, tensor<f32>
}
