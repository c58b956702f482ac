// RUN: ptl-opt %s --split-input-file --verify-diagnostics --fuse-outline-single --memory-plan-buffers --cuda-lower-row-kernels | FileCheck %s

#be = #ptl.dims<[batch, embed]>

// A warp has a row of 128, four elements a thread, and meets by shuffles alone. What the first loop reads, the others find.
// CHECK-LABEL: gpu.module @kernels attributes {rt.left_out = []}
// CHECK: gpu.func @kernel_0(%[[X:.*]]: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias, llvm.readonly}, %[[Y:.*]]: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias})
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>
// CHECK-SAME: rt.grid = 2 : i64
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK-NOT: llvm.load
// CHECK-NOT: gpu.barrier
// CHECK-COUNT-10: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
// CHECK: gpu.return
func.func @logits(%x: tensor<8x128xf32, #be>) -> tensor<8x128xf32, #be> {
  %p = ptl.softmax %x over embed : tensor<8x128xf32, #be> -> tensor<8x128xf32, #be>
  return %p : tensor<8x128xf32, #be>
}

// -----

#be = #ptl.dims<[batch, embed]>
#e = #ptl.dims<[embed]>

// Each of 4 teams writes a part of a sum over rows (16 rows each); the second kernel adds the parts in order.
// CHECK-LABEL: gpu.module @kernels
// CHECK: gpu.func @kernel_0(
// CHECK-SAME: rt.grid = 1 : i64, rt.workspace = 2048 : i64
// CHECK: %{{.*}}:4 = scf.for %{{.*}} = %{{.*}} to %c16_i64
// CHECK: gpu.func @kernel_0_sum(
// CHECK: %{{.*}}:4 = scf.for %{{.*}} = %{{.*}} to %c4_i64
func.func @logits(%x: tensor<64x128xf32, #be>) -> tensor<128xf32, #e> {
  %s = ptl.reduce sum %x over [batch] : tensor<64x128xf32, #be> -> tensor<128xf32, #e>
  return %s : tensor<128xf32, #e>
}

// -----

#be = #ptl.dims<[batch, embed]>
#bf = #ptl.dims<[batch, ffn]>
#ef = #ptl.dims<[embed, ffn]>
#bk = #ptl.dims<[batch, k]>

// What is missing is listed and said.
// CHECK-LABEL: gpu.module @kernels attributes {rt.left_out = ["matrix product at {{.*}}", "top_k at {{.*}}"]}
// CHECK-NOT: gpu.func
func.func @logits(%x: tensor<8x128xf32, #be>, %w: tensor<128x64xf32, #ef>) -> (tensor<8x64xf32, #bf>, tensor<8x3xf32, #bk>) {
  // expected-remark @below {{matrix product isn't supported on GPUs yet: 1 left out}}
  %y = ptl.dot %x, %w over [embed] : (tensor<8x128xf32, #be>, tensor<128x64xf32, #ef>) -> tensor<8x64xf32, #bf>
  // expected-remark @below {{top_k isn't supported on GPUs yet: 1 left out}}
  %v, %i = ptl.top_k %x embed -> k : tensor<8x128xf32, #be> -> (tensor<8x3xf32, #bk>, tensor<8x3xi32, #bk>)
  return %y, %v : tensor<8x64xf32, #bf>, tensor<8x3xf32, #bk>
}

// -----

#be = #ptl.dims<[batch, embed]>
#ve = #ptl.dims<[vocab, embed]>
#b = #ptl.dims<[batch]>

// A short row of many operands isn't resident; the team that owns a part of a scatter's result is a warp all the same.
// CHECK-LABEL: gpu.module @kernels attributes {rt.left_out = []}
// CHECK: gpu.func @kernel_0(
// CHECK-SAME: known_block_size = array<i32: 32, 1, 1>
func.func @logits(%ids: tensor<6xi32, #b>, %x0: tensor<6x12xf32, #be>, %x1: tensor<6x12xf32, #be>, %x2: tensor<6x12xf32, #be>, %x3: tensor<6x12xf32, #be>, %x4: tensor<6x12xf32, #be>, %x5: tensor<6x12xf32, #be>, %x6: tensor<6x12xf32, #be>, %x7: tensor<6x12xf32, #be>, %x8: tensor<6x12xf32, #be>) -> tensor<11x12xf32, #ve> {
  %y = rt.kernel rows(%ids, %x0, %x1, %x2, %x3, %x4, %x5, %x6, %x7, %x8) iterate [batch] : (tensor<6xi32, #b>, tensor<6x12xf32, #be>, tensor<6x12xf32, #be>, tensor<6x12xf32, #be>, tensor<6x12xf32, #be>, tensor<6x12xf32, #be>, tensor<6x12xf32, #be>, tensor<6x12xf32, #be>, tensor<6x12xf32, #be>, tensor<6x12xf32, #be>) -> tensor<11x12xf32, #ve> {
  ^bb0(%n: tensor<6xi32, #b>, %a0: tensor<6x12xf32, #be>, %a1: tensor<6x12xf32, #be>, %a2: tensor<6x12xf32, #be>, %a3: tensor<6x12xf32, #be>, %a4: tensor<6x12xf32, #be>, %a5: tensor<6x12xf32, #be>, %a6: tensor<6x12xf32, #be>, %a7: tensor<6x12xf32, #be>, %a8: tensor<6x12xf32, #be>):
    %s1 = ptl.elementwise add %a0, %a1 : (tensor<6x12xf32, #be>, tensor<6x12xf32, #be>) -> tensor<6x12xf32, #be>
    %s2 = ptl.elementwise add %s1, %a2 : (tensor<6x12xf32, #be>, tensor<6x12xf32, #be>) -> tensor<6x12xf32, #be>
    %s3 = ptl.elementwise add %s2, %a3 : (tensor<6x12xf32, #be>, tensor<6x12xf32, #be>) -> tensor<6x12xf32, #be>
    %s4 = ptl.elementwise add %s3, %a4 : (tensor<6x12xf32, #be>, tensor<6x12xf32, #be>) -> tensor<6x12xf32, #be>
    %s5 = ptl.elementwise add %s4, %a5 : (tensor<6x12xf32, #be>, tensor<6x12xf32, #be>) -> tensor<6x12xf32, #be>
    %s6 = ptl.elementwise add %s5, %a6 : (tensor<6x12xf32, #be>, tensor<6x12xf32, #be>) -> tensor<6x12xf32, #be>
    %s7 = ptl.elementwise add %s6, %a7 : (tensor<6x12xf32, #be>, tensor<6x12xf32, #be>) -> tensor<6x12xf32, #be>
    %s8 = ptl.elementwise add %s7, %a8 : (tensor<6x12xf32, #be>, tensor<6x12xf32, #be>) -> tensor<6x12xf32, #be>
    %r = ptl.scatter_add %n, %s8 over vocab : (tensor<6xi32, #b>, tensor<6x12xf32, #be>) -> tensor<11x12xf32, #ve>
    rt.return %r : tensor<11x12xf32, #ve>
  }
  return %y : tensor<11x12xf32, #ve>
}

// -----

#bsh = #ptl.dims<[batch, seq, heads]>
#bh = #ptl.dims<[batch, heads]>

// Folds that leave more of a row than the shared memory of a block holds.
// CHECK-LABEL: gpu.module @kernels attributes {rt.left_out = ["a row that needs 64000 bytes of shared memory (at most 49152) at {{.*}}"]}
// CHECK-NOT: gpu.func
func.func @logits(%x: tensor<2x2x8000xf32, #bsh>) -> tensor<2x8000xf32, #bh> {
  // expected-remark @below {{a row that needs 64000 bytes of shared memory (at most 49152) isn't supported on GPUs yet: 1 left out}}
  %y = rt.kernel rows(%x) iterate [batch] : (tensor<2x2x8000xf32, #bsh>) -> tensor<2x8000xf32, #bh> {
  ^bb0(%a: tensor<2x2x8000xf32, #bsh>):
    %s = ptl.reduce sum %a over [seq] : tensor<2x2x8000xf32, #bsh> -> tensor<2x8000xf32, #bh>
    rt.return %s : tensor<2x8000xf32, #bh>
  }
  return %y : tensor<2x8000xf32, #bh>
}

// -----

#b = #ptl.dims<[batch]>

// The second micro-batch begins at 28 bytes: no vectors, and no promise of an alignment. What is stored has both.
// CHECK-LABEL: gpu.module @kernels attributes {rt.left_out = []}
// CHECK: gpu.func @kernel_0([[X:%[a-z0-9]+]]: !llvm.ptr<1> {llvm.noalias, llvm.readonly}, {{.*}}: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias}, {{.*}}: i64)
// CHECK: [[P:%[0-9]+]] = llvm.getelementptr inbounds [[X]]
// CHECK-NEXT: llvm.load [[P]] {alignment = 4 : i64}
// CHECK: llvm.store {{.*}} vector<4xf32>
func.func @step(%x: tensor<14xf32, #b> {ptl.role = "data", ptl.path = "x"}) -> tensor<7xf32, #b> {
  %sum = ptl.accumulate pieces 2 (%k) -> tensor<7xf32, #b> {
    %p = ptl.microbatch %x[%k] of 2 along batch : tensor<14xf32, #b> -> tensor<7xf32, #b>
    %y = ptl.elementwise exp %p : (tensor<7xf32, #b>) -> tensor<7xf32, #b>
    ptl.yield %y : tensor<7xf32, #b>
  }
  return %sum : tensor<7xf32, #b>
}
