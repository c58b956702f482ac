// RUN: ptl-opt %s --pass-pipeline="builtin.module(gpu.module(cuda-approximate-math))" | FileCheck %s

gpu.module @kernels {
  // exp(x) = 2^(x log2 e), one multiplication and one instruction.
  // CHECK-LABEL: gpu.func @exp
  // CHECK: %[[LOG2E:.*]] = arith.constant 1.44269502 : f32
  // CHECK: %[[X:.*]] = arith.mulf %{{.*}}, %[[LOG2E]] fastmath<contract>
  // CHECK: %[[Y:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%[[X]])
  // CHECK: llvm.store %[[Y]]
  gpu.func @exp(%x: f32, %p: !llvm.ptr<1>) kernel {
    %0 = math.exp %x : f32
    llvm.store %0, %p : f32, !llvm.ptr<1>
    gpu.return
  }

  // Quotients are products with a reciprocal; 1/x is the reciprocal itself.
  // CHECK-LABEL: gpu.func @quotients
  // CHECK: %[[R:.*]] = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"
  // CHECK-NEXT: llvm.store %[[R]]
  // CHECK: %[[S:.*]] = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"
  // CHECK-NEXT: arith.mulf %{{.*}}, %[[S]]
  gpu.func @quotients(%x: f32, %y: f32, %p: !llvm.ptr<1>) kernel {
    %one = arith.constant 1.0 : f32
    %0 = arith.divf %one, %x : f32
    llvm.store %0, %p : f32, !llvm.ptr<1>
    %1 = arith.divf %y, %x : f32
    llvm.store %1, %p : f32, !llvm.ptr<1>
    gpu.return
  }

  // Remainders are those of magnitudes; a quotient that rounding takes to the next whole number is corrected.
  // CHECK-LABEL: gpu.func @remainder
  // CHECK: %[[R:.*]] = arith.subf
  // CHECK: arith.cmpf oge, %[[R]], %[[Y:.*]] : f32
  // CHECK: arith.subf %[[R]], %[[Y]]
  // CHECK: arith.cmpf olt, %[[R]], %{{.*}} : f32
  // CHECK: arith.addf %[[R]], %[[Y]]
  gpu.func @remainder(%x: f32, %y: f32, %p: !llvm.ptr<1>) kernel {
    %0 = arith.remf %x, %y : f32
    llvm.store %0, %p : f32, !llvm.ptr<1>
    gpu.return
  }

  // Squares need no logarithm, and keep the sign right.
  // CHECK-LABEL: gpu.func @square
  // CHECK-NOT: lg2
  // CHECK: arith.mulf %[[A:.*]], %[[A]]
  gpu.func @square(%x: f32, %p: !llvm.ptr<1>) kernel {
    %two = arith.constant 2.0 : f32
    %0 = math.powf %x, %two : f32
    llvm.store %0, %p : f32, !llvm.ptr<1>
    gpu.return
  }

  // What isn't f32 stays: there are no such instructions.
  // CHECK-LABEL: gpu.func @wide
  // CHECK: math.exp %{{.*}} : f64
  gpu.func @wide(%x: f64, %p: !llvm.ptr<1>) kernel {
    %0 = math.exp %x : f64
    llvm.store %0, %p : f64, !llvm.ptr<1>
    gpu.return
  }
}
