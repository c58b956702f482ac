// RUN: ptl-opt %s --fuse-restore-places --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

!x = tensor<4xf32, #ptl.dims<[embed]>>

// The constant is read by what is read by the product of line 3: both get its place. What has one keeps it.
// CHECK-LABEL: func @reader
func.func @reader(%x: !x) -> !x {
  // CHECK: ptl.constant 2 {{.*}} loc("m.ptl":3:4)
  // CHECK: ptl.broadcast {{.*}} loc("m.ptl":3:4)
  // CHECK: ptl.elementwise mul {{.*}} loc("m.ptl":3:4)
  // CHECK: ptl.elementwise add {{.*}} loc("m.ptl":5:6)
  %c = ptl.constant 2 : tensor<f32> loc(unknown)
  %b = ptl.broadcast %c : tensor<f32> -> !x loc(unknown)
  %y = ptl.elementwise mul %x, %b : (!x, !x) -> !x loc("m.ptl":3:4)
  %z = ptl.elementwise add %y, %b : (!x, !x) -> !x loc("m.ptl":5:6)
  return %z : !x
}

// A reader in a loop counts, too.
// CHECK-LABEL: func @nested
func.func @nested(%x: !x) -> !x {
  // CHECK: ptl.constant 2 {{.*}} loc("m.ptl":7:8)
  %c = ptl.constant 2 : !x loc(unknown)
  %s = ptl.accumulate pieces 2 (%k) -> !x {
    %y = ptl.elementwise mul %x, %c : (!x, !x) -> !x loc("m.ptl":7:8)
    ptl.yield %y : !x
  }
  return %s : !x
}
