// RUN: ptl-opt %s --split-input-file --memory-recompute | FileCheck %s
// RUN: ptl-opt %s --split-input-file --memory-recompute --canonicalize --fuse-expand-rows --cse --fuse-rows --fuse-outline-single | FileCheck %s --check-prefix=KERNELS --implicit-check-not=optimization_barrier

#bd = #ptl.dims<[batch, dim]>
#df = #ptl.dims<[dim, ffn]>
#bf = #ptl.dims<[batch, ffn]>
#plan = {remat = [{kinds = ["pointwise"], length = 1, parts = ["mlp"], values = [], line = "m.ptl:1:1"}]}

// A product is kept, its activation computed again in front of its first reader, through a barrier. No fusion unites the two.
// CHECK:       rt.recomputed = [{flops = 32 : i64, part = "mlp", written = 128 : i64}]
// CHECK-LABEL: func @step
// CHECK:         %[[U:.*]] = ptl.dot %arg0, %arg1
// CHECK:         %[[A:.*]] = ptl.elementwise gelu %[[U]]
// CHECK-NEXT:    ptl.reduce sum %[[A]]
// CHECK-NEXT:    ptl.constant
// CHECK-NEXT:    %[[V:.*]] = rt.optimization_barrier "mlp" %[[U]]
// CHECK-NEXT:    %[[B:.*]] = ptl.elementwise gelu %[[V]]
// CHECK-NEXT:    ptl.dot %arg0, %[[B]]
// KERNELS:       %[[U:.*]] = rt.kernel matmul
// KERNELS:       rt.kernel rows(%[[U]]) {{.*}} -> tensor<f32>
// KERNELS:       %[[B:.*]] = rt.kernel rows(%[[U]]) {{.*}} -> tensor<4x8xf32
// KERNELS:       rt.kernel matmul({{.*}}%[[B]]
module attributes {ptl.plan = #plan} {
  func.func @step(%x: tensor<4x2xf32, #bd>, %w: tensor<2x8xf32, #df>) -> (tensor<f32> {ptl.role = "loss"}, tensor<2x8xf32, #df>) {
    %s:2 = ptl.accumulate pieces 1 (%k) -> tensor<f32>, tensor<2x8xf32, #df> attributes {ptl.grad = ["", "w"]} {
      %u = ptl.dot %x, %w over [dim] : (tensor<4x2xf32, #bd>, tensor<2x8xf32, #df>) -> tensor<4x8xf32, #bf> loc("mlp")
      %a = ptl.elementwise gelu %u : (tensor<4x8xf32, #bf>) -> tensor<4x8xf32, #bf> loc("mlp")
      %l = ptl.reduce sum %a over [batch, ffn] : tensor<4x8xf32, #bf> -> tensor<f32> loc("mlp")
      %c = ptl.constant 2.0 : tensor<4x2xf32, #bd>
      %g = ptl.dot %x, %a over [batch] : (tensor<4x2xf32, #bd>, tensor<4x8xf32, #bf>) -> tensor<2x8xf32, #df>
      %h = ptl.dot %x, %u over [batch] : (tensor<4x2xf32, #bd>, tensor<4x8xf32, #bf>) -> tensor<2x8xf32, #df>
      %i = ptl.elementwise add %g, %h : (tensor<2x8xf32, #df>, tensor<2x8xf32, #df>) -> tensor<2x8xf32, #df>
      ptl.yield %l, %i : tensor<f32>, tensor<2x8xf32, #df>
    }
    return %s#0, %s#1 : tensor<f32>, tensor<2x8xf32, #df>
  }
}

// -----

#b = #ptl.dims<[batch]>
#bd = #ptl.dims<[batch, dim]>
#plan = {remat = [{kinds = ["everything"], length = 1, parts = ["blocks.0", "blocks.1"], values = [], line = "m.ptl:1:1"},
                  {kinds = [], length = 2, parts = [], values = ["blocks.1.kept"], line = "m.ptl:2:1"}]}

// Each block keeps its input; what the second one reads of the first is there. Folds are kept, whose order could depend on
// their kernel, and so is what a longer path names. Random numbers are drawn again.
// CHECK:       rt.recomputed = [{{.*}}part = "blocks.1"{{.*}}part = "blocks.0"
// CHECK-LABEL: func @step
// CHECK:         %[[Y:.*]] = ptl.elementwise mul
// CHECK:         %[[M:.*]] = ptl.reduce max
// CHECK:         ptl.elementwise exp %{{.*}} {ptl.name = "blocks.1.kept"}
// CHECK:         ptl.reduce sum %{{.*}} over [batch, dim]
// CHECK-NOT:     rt.optimization_barrier "blocks.0"
// CHECK-DAG:     %[[Y2:.*]] = rt.optimization_barrier "blocks.1" %[[Y]]
// CHECK-DAG:     rt.optimization_barrier "blocks.1" %[[M]]
// CHECK:         ptl.elementwise sub
// CHECK-NOT:     ptl.reduce max
// CHECK-NOT:     exp
// CHECK:         %[[S:.*]] = rt.optimization_barrier "blocks.0" %{{.*}} : tensor<i64>
// CHECK:         ptl.random uniform place "blocks.0#1" step %[[S]]
module attributes {ptl.plan = #plan} {
  func.func @step(%x: tensor<4x8xf32, #bd>, %t: tensor<i64>) -> (tensor<f32> {ptl.role = "loss"}, tensor<f32>) {
    %s:2 = ptl.accumulate pieces 1 (%k) -> tensor<f32>, tensor<f32> attributes {ptl.grad = ["", "w"]} {
      %p = ptl.microbatch %x[%k] of 1 along batch : tensor<4x8xf32, #bd> -> tensor<4x8xf32, #bd>
      %u = ptl.random uniform place "blocks.0#1" step %t : tensor<i64> -> tensor<4x8xf32, #bd> loc("blocks.0")
      %h = ptl.elementwise tanh %u : (tensor<4x8xf32, #bd>) -> tensor<4x8xf32, #bd> loc("blocks.0")
      %y = ptl.elementwise mul %p, %h : (tensor<4x8xf32, #bd>, tensor<4x8xf32, #bd>) -> tensor<4x8xf32, #bd> loc("blocks.0")
      %m = ptl.reduce max %y over [dim] : tensor<4x8xf32, #bd> -> tensor<4xf32, #b> loc("blocks.1")
      %w = ptl.broadcast %m : tensor<4xf32, #b> -> tensor<4x8xf32, #bd> loc("blocks.1")
      %d = ptl.elementwise sub %y, %w : (tensor<4x8xf32, #bd>, tensor<4x8xf32, #bd>) -> tensor<4x8xf32, #bd> loc("blocks.1")
      %e = ptl.elementwise exp %d {ptl.name = "blocks.1.kept"} : (tensor<4x8xf32, #bd>) -> tensor<4x8xf32, #bd> loc("blocks.1")
      %q = ptl.elementwise mul %e, %d : (tensor<4x8xf32, #bd>, tensor<4x8xf32, #bd>) -> tensor<4x8xf32, #bd> loc("blocks.1")
      %l = ptl.reduce sum %q over [batch, dim] : tensor<4x8xf32, #bd> -> tensor<f32>
      %g = ptl.elementwise mul %e, %d : (tensor<4x8xf32, #bd>, tensor<4x8xf32, #bd>) -> tensor<4x8xf32, #bd>
      %f = ptl.elementwise mul %g, %h : (tensor<4x8xf32, #bd>, tensor<4x8xf32, #bd>) -> tensor<4x8xf32, #bd>
      %z = ptl.elementwise mul %f, %y : (tensor<4x8xf32, #bd>, tensor<4x8xf32, #bd>) -> tensor<4x8xf32, #bd>
      %a = ptl.reduce sum %z over [batch, dim] : tensor<4x8xf32, #bd> -> tensor<f32>
      ptl.yield %l, %a : tensor<f32>, tensor<f32>
    }
    return %s#0, %s#1 : tensor<f32>, tensor<f32>
  }
}

// -----

#bd = #ptl.dims<[batch, dim]>
#df = #ptl.dims<[dim, ffn]>
#bf = #ptl.dims<[batch, ffn]>
#plan = {remat = [{kinds = ["everything"], length = 1, parts = ["mlp"], values = [], line = "m.ptl:1:1"}]}
// A collective that the backward needs again says so in the ledger.
// CHECK-LABEL: func @step
// CHECK:         spmd.all_reduce sum %{{.*}} over @mesh [tp] reason "it sums"
// CHECK:         spmd.all_reduce sum %{{.*}} over @mesh [tp] reason "it sums, computed again for the backward"
module attributes {ptl.plan = #plan} {
  spmd.mesh @mesh [tp = 2]
  func.func @step(%x: tensor<4x2xf32, #bd>, %w: tensor<2x8xf32, #df>) -> (tensor<f32> {ptl.role = "loss"}, tensor<2x8xf32, #df>) {
    %s:2 = ptl.accumulate pieces 1 (%k) -> tensor<f32>, tensor<2x8xf32, #df> attributes {ptl.grad = ["", "w"]} {
      %u = ptl.dot %x, %w over [dim] : (tensor<4x2xf32, #bd>, tensor<2x8xf32, #df>) -> tensor<4x8xf32, #bf> loc("mlp")
      %r = spmd.all_reduce sum %u over @mesh [tp] reason "it sums" : tensor<4x8xf32, #bf> -> tensor<4x8xf32, #bf> loc("mlp")
      %a = ptl.elementwise gelu %r : (tensor<4x8xf32, #bf>) -> tensor<4x8xf32, #bf> loc("mlp")
      %l = ptl.reduce sum %a over [batch, ffn] : tensor<4x8xf32, #bf> -> tensor<f32> loc("mlp")
      %g = ptl.dot %x, %a over [batch] : (tensor<4x2xf32, #bd>, tensor<4x8xf32, #bf>) -> tensor<2x8xf32, #df>
      %h = ptl.dot %x, %r over [batch] : (tensor<4x2xf32, #bd>, tensor<4x8xf32, #bf>) -> tensor<2x8xf32, #df>
      %i = ptl.elementwise add %g, %h : (tensor<2x8xf32, #df>, tensor<2x8xf32, #df>) -> tensor<2x8xf32, #df>
      ptl.yield %l, %i : tensor<f32>, tensor<2x8xf32, #df>
    }
    return %s#0, %s#1 : tensor<f32>, tensor<2x8xf32, #df>
  }
}

// -----

#bd = #ptl.dims<[batch, dim]>
#df = #ptl.dims<[dim, ffn]>
#bf = #ptl.dims<[batch, ffn]>
#plan = {remat = [{kinds = ["gathers"], length = 1, parts = ["mlp"], values = [], line = "m.ptl:1:1"}]}

// The shard is kept, its gathering repeated; nothing else of the part is.
// CHECK-LABEL: func @step
// CHECK:         %[[X:.*]] = ptl.elementwise tanh %arg0
// CHECK:         spmd.all_gather %[[X]]
// CHECK:         %[[V:.*]] = rt.optimization_barrier "mlp" %[[X]]
// CHECK-NEXT:    %[[G:.*]] = spmd.all_gather %[[V]] {{.*}} reason "it is needed, computed again for the backward"
// CHECK-NEXT:    ptl.dot %[[G]]
// CHECK-NOT:     spmd.all_gather
module attributes {ptl.plan = #plan} {
  spmd.mesh @mesh [tp = 2]
  func.func @step(%x: tensor<2x2xf32, #bd>, %w: tensor<2x8xf32, #df>) -> (tensor<f32> {ptl.role = "loss"}, tensor<2x8xf32, #df>) {
    %s:2 = ptl.accumulate pieces 1 (%k) -> tensor<f32>, tensor<2x8xf32, #df> attributes {ptl.grad = ["", "w"]} {
      %a = ptl.elementwise tanh %x : (tensor<2x2xf32, #bd>) -> tensor<2x2xf32, #bd> loc("mlp")
      %g = spmd.all_gather %a along batch over @mesh [tp] reason "it is needed" : tensor<2x2xf32, #bd> -> tensor<4x2xf32, #bd> loc("mlp")
      %u = ptl.dot %g, %w over [dim] : (tensor<4x2xf32, #bd>, tensor<2x8xf32, #df>) -> tensor<4x8xf32, #bf> loc("mlp")
      %l = ptl.reduce sum %u over [batch, ffn] : tensor<4x8xf32, #bf> -> tensor<f32> loc("mlp")
      %c = ptl.constant 2.0 : tensor<4x8xf32, #bf>
      %d = ptl.dot %g, %c over [batch] : (tensor<4x2xf32, #bd>, tensor<4x8xf32, #bf>) -> tensor<2x8xf32, #df>
      ptl.yield %l, %d : tensor<f32>, tensor<2x8xf32, #df>
    }
    return %s#0, %s#1 : tensor<f32>, tensor<2x8xf32, #df>
  }
}
