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
