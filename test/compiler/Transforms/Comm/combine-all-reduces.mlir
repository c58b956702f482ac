// RUN: ptl-opt %s --split-input-file --comm-combine-all-reduces="bucket-bytes=64" --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s
// RUN: ptl-opt %s --split-input-file --comm-combine-all-reduces="bucket-bytes=64" | FileCheck %s --check-prefix=SHORT

!a = tensor<4xf32, #ptl.dims<[embed]>>
!b = tensor<8xf32, #ptl.dims<[ffn]>>
spmd.mesh @mesh [dp = 2, tp = 2]

// Two gradients of the same replicas travel together, 16 + 32 of 64 bytes; the ledger keeps why.
// CHECK-LABEL: func @combines
// CHECK-SAME: %[[A:.*]]: tensor<4xf32{{[^,]*}}, #ptl.dims<[embed]>>{{.*}}, %[[B:.*]]: tensor<8xf32
func.func @combines(%a: !a, %b: !b) -> (!a, !b) {
  // CHECK: %[[R:.*]]:2 = spmd.all_reduce sum %[[A]], %[[B]] over @mesh [dp] reason "2 values travel together"
  // CHECK-SAME: members = [#spmd.member<"m.ptl:3:7" because "r">, #spmd.member<"m.ptl:4:9" because "s">]
  // CHECK-SAME: loc(fused["m.ptl":3:7, "m.ptl":4:9])
  // CHECK: return %[[R]]#0, %[[R]]#1
  %0 = spmd.all_reduce sum %a over @mesh [dp] reason "r" : !a -> !a loc("m.ptl":3:7)
  %1 = spmd.all_reduce sum %b over @mesh [dp] reason "s" : !b -> !b loc("m.ptl":4:9)
  return %0, %1 : !a, !b
}

// The loss is reduced where it is returned; it moves up to the gradients that were made with it.
// SHORT-LABEL: func @hoists
func.func @hoists(%a: !a) -> (!a, tensor<f32>) {
  // SHORT: %[[S:.*]] = ptl.elementwise add
  // SHORT: %[[L:.*]] = ptl.reduce sum
  // SHORT-NEXT: %[[R:.*]]:2 = spmd.all_reduce sum %[[S]], %[[L]]
  // SHORT-NEXT: %[[N:.*]] = ptl.elementwise neg %[[R]]#0
  // SHORT-NEXT: return %[[N]], %[[R]]#1
  %s = ptl.elementwise add %a, %a : (!a, !a) -> !a
  %l = ptl.reduce sum %s over [embed] : !a -> tensor<f32>
  %0 = spmd.all_reduce sum %s over @mesh [dp] : !a -> !a
  %n = ptl.elementwise neg %0 : (!a) -> !a
  %1 = spmd.all_reduce sum %l over @mesh [dp] : tensor<f32> -> tensor<f32>
  return %n, %1 : !a, tensor<f32>
}

// %1 needs the result of %0, so they can't be one.
// SHORT-LABEL: func @keeps_dependent
func.func @keeps_dependent(%a: !a) -> !a {
  // SHORT-COUNT-2: spmd.all_reduce sum %{{[^,]*}} over
  %0 = spmd.all_reduce sum %a over @mesh [dp] : !a -> !a
  %n = ptl.elementwise neg %0 : (!a) -> !a
  %1 = spmd.all_reduce sum %n over @mesh [dp] : !a -> !a
  return %1 : !a
}

// Other axes, another fold, another type of element: each has a bucket of its own, and all of them grow.
// SHORT-LABEL: func @keeps_apart
// SHORT-SAME: %[[A:.*]]: {{.*}}, %[[B:.*]]: {{.*}}, %[[I:.*]]: tensor<i32>)
func.func @keeps_apart(%a: !a, %b: !b, %i: tensor<i32>) -> (!a, !a, !b, tensor<i32>, !b) {
  // SHORT-DAG: spmd.all_reduce sum %[[A]], %[[B]] over @mesh [dp]
  // SHORT-DAG: spmd.all_reduce sum %[[A]] over @mesh [dp, tp]
  // SHORT-DAG: spmd.all_reduce max %[[B]] over @mesh [dp]
  // SHORT-DAG: spmd.all_reduce sum %[[I]] over @mesh [dp]
  %0 = spmd.all_reduce sum %a over @mesh [dp] : !a -> !a
  %1 = spmd.all_reduce sum %a over @mesh [dp, tp] : !a -> !a
  %2 = spmd.all_reduce max %b over @mesh [dp] : !b -> !b
  %3 = spmd.all_reduce sum %i over @mesh [dp] : tensor<i32> -> tensor<i32>
  %4 = spmd.all_reduce sum %b over @mesh [dp] : !b -> !b
  return %0, %1, %2, %3, %4 : !a, !a, !b, tensor<i32>, !b
}

// 32 + 32 fill a bucket; the third opens another.
// SHORT-LABEL: func @fills
func.func @fills(%a: !b, %b: !b, %c: !b) -> (!b, !b, !b) {
  // SHORT: %[[R:.*]]:2 = spmd.all_reduce sum
  // SHORT: %[[S:.*]] = spmd.all_reduce sum
  // SHORT: return %[[R]]#0, %[[R]]#1, %[[S]]
  %0 = spmd.all_reduce sum %a over @mesh [dp] : !b -> !b
  %1 = spmd.all_reduce sum %b over @mesh [dp] : !b -> !b
  %2 = spmd.all_reduce sum %c over @mesh [dp] : !b -> !b
  return %0, %1, %2 : !b, !b, !b
}

// -----

!b = tensor<8xf32, #ptl.dims<[ffn]>>

// The plan's own size of a bucket has the last word.
module attributes {ptl.plan = {bucket = 32 : i64}} {
  spmd.mesh @mesh [dp = 2]
  // SHORT-LABEL: func @plan
  func.func @plan(%a: !b, %b: !b) -> (!b, !b) {
    // SHORT-COUNT-2: spmd.all_reduce sum %{{[^,]*}} over
    %0 = spmd.all_reduce sum %a over @mesh [dp] : !b -> !b
    %1 = spmd.all_reduce sum %b over @mesh [dp] : !b -> !b
    return %0, %1 : !b, !b
  }
}
