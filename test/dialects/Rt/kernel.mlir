// RUN: ptl-opt %s --split-input-file --verify-diagnostics | ptl-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func @kernel
func.func @kernel(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) -> tensor<4x6xf32, #ptl.dims<[seq, heads]>> {
  // CHECK: rt.kernel rows(%{{.*}}) iterate [seq] {rt.buffers = [#rt.buffer<scratch, offset = 64, rows = 4, cols = 6, stride = 6>]}
  %y = rt.kernel rows(%x) iterate [seq] {rt.buffers = [#rt.buffer<scratch, offset = 64, rows = 4, cols = 6, stride = 6>]} : (tensor<4x6xf32, #ptl.dims<[seq, heads]>>) -> tensor<4x6xf32, #ptl.dims<[seq, heads]>> {
  ^bb0(%a: tensor<4x6xf32, #ptl.dims<[seq, heads]>>):
    // CHECK: ptl.softmax
    // CHECK: rt.return
    %b = ptl.softmax %a over heads : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
    rt.return %b : tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  }
  return %y : tensor<4x6xf32, #ptl.dims<[seq, heads]>>
}

// -----

func.func @kernel_c1(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{the body's arguments must have the operands' types}}
  %y = rt.kernel rows(%x) iterate [seq] : (tensor<4x6xf32, #ptl.dims<[seq, heads]>>) -> tensor<4x6xf32, #ptl.dims<[seq, heads]>> {
  ^bb0(%a: tensor<8x6xf32, #ptl.dims<[seq, heads]>>):
    %b = ptl.constant 0 : tensor<4x6xf32, #ptl.dims<[seq, heads]>>
    rt.return %b : tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  }
  return
}

// -----

func.func @kernel_c2(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{the body must return values of the results' types}}
  %y = rt.kernel rows(%x) iterate [seq] : (tensor<4x6xf32, #ptl.dims<[seq, heads]>>) -> tensor<8x6xf32, #ptl.dims<[seq, heads]>> {
  ^bb0(%a: tensor<4x6xf32, #ptl.dims<[seq, heads]>>):
    rt.return %a : tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  }
  return
}

// -----

func.func @kernel_c3(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{'seq' is iterated over twice}}
  %y = rt.kernel rows(%x) iterate [seq, seq] : (tensor<4x6xf32, #ptl.dims<[seq, heads]>>) -> tensor<4x6xf32, #ptl.dims<[seq, heads]>> {
  ^bb0(%a: tensor<4x6xf32, #ptl.dims<[seq, heads]>>):
    rt.return %a : tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  }
  return
}
