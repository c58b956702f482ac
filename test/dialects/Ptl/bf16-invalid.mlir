// RUN: ptl-opt %s --split-input-file --verify-diagnostics

// What must not be rounded at each step, and what belongs together. @op_cN breaks (CN).

func.func @dot_c4(%x: tensor<4x8xbf16, #ptl.dims<[batch, embed]>>, %w: tensor<8x2xbf16, #ptl.dims<[embed, ffn]>>) {
  // f32 is right, too.
  %z = ptl.dot %x, %w over [embed] : (tensor<4x8xbf16, #ptl.dims<[batch, embed]>>, tensor<8x2xbf16, #ptl.dims<[embed, ffn]>>) -> tensor<4x2xf32, #ptl.dims<[batch, ffn]>>
  // expected-error @below {{result must be 'tensor<4x2xbf16, #ptl.dims<[batch, ffn]>>', is 'tensor<4x2xf16, #ptl.dims<[batch, ffn]>>'}}
  %y = ptl.dot %x, %w over [embed] : (tensor<4x8xbf16, #ptl.dims<[batch, embed]>>, tensor<8x2xbf16, #ptl.dims<[embed, ffn]>>) -> tensor<4x2xf16, #ptl.dims<[batch, ffn]>>
  return
}

// -----

func.func @reduce_c3(%x: tensor<4x8xbf16, #ptl.dims<[batch, embed]>>) {
  %z = ptl.reduce max %x over [embed] : tensor<4x8xbf16, #ptl.dims<[batch, embed]>> -> tensor<4xbf16, #ptl.dims<[batch]>>
  // expected-error @below {{can't add up bf16; cast it to f32 first}}
  %y = ptl.reduce sum %x over [embed] : tensor<4x8xbf16, #ptl.dims<[batch, embed]>> -> tensor<4xbf16, #ptl.dims<[batch]>>
  return
}

// -----

func.func @scatter_add_c4(%i: tensor<4xi32, #ptl.dims<[batch]>>, %u: tensor<4x8xbf16, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{can't add up bf16; cast it to f32 first}}
  %y = ptl.scatter_add %i, %u over vocab : (tensor<4xi32, #ptl.dims<[batch]>>, tensor<4x8xbf16, #ptl.dims<[batch, embed]>>) -> tensor<50x8xbf16, #ptl.dims<[vocab, embed]>>
  return
}

// -----

func.func @accumulate_c3(%x: tensor<bf16>) {
  // One piece adds nothing.
  %t = ptl.accumulate pieces 1 (%k) -> tensor<bf16> {
    ptl.yield %x : tensor<bf16>
  }
  // expected-error @below {{can't add up bf16; cast it to f32 first}}
  %s = ptl.accumulate pieces 2 (%k) -> tensor<bf16> {
    ptl.yield %x : tensor<bf16>
  }
  return
}

// -----

func.func @attention_c6(%q: tensor<6x8xbf16, #ptl.dims<[seq, hdim]>>, %k: tensor<6x8xf32, #ptl.dims<[seq, hdim]>>) {
  // expected-error @below {{queries, keys and values need one element type}}
  %y, %lse = ptl.attention %q, %k, %k over seq depth hdim -> hdim scale 1 : (tensor<6x8xbf16, #ptl.dims<[seq, hdim]>>, tensor<6x8xf32, #ptl.dims<[seq, hdim]>>, tensor<6x8xf32, #ptl.dims<[seq, hdim]>>) -> (tensor<6x8xbf16, #ptl.dims<[seq, hdim]>>, tensor<6xf32, #ptl.dims<[seq]>>)
  return
}

// -----

func.func @attention_c5(%q: tensor<6x8xbf16, #ptl.dims<[seq, hdim]>>) {
  // expected-error @below {{lse must be 'tensor<6xf32, #ptl.dims<[seq]>>'}}
  %y, %lse = ptl.attention %q, %q, %q over seq depth hdim -> hdim scale 1 : (tensor<6x8xbf16, #ptl.dims<[seq, hdim]>>, tensor<6x8xbf16, #ptl.dims<[seq, hdim]>>, tensor<6x8xbf16, #ptl.dims<[seq, hdim]>>) -> (tensor<6x8xbf16, #ptl.dims<[seq, hdim]>>, tensor<6xbf16, #ptl.dims<[seq]>>)
  return
}

// -----

func.func @optimize_c1(%w: tensor<8xf32, #ptl.dims<[embed]>>, %g: tensor<8xf16, #ptl.dims<[embed]>>, %h: tensor<f32>, %step: tensor<i64>) {
  // expected-error @below {{gradients (or their bf16) and new weights must have the types of the weights}}
  %r = ptl.optimize sgd weights(%w : tensor<8xf32, #ptl.dims<[embed]>>) grads(%g : tensor<8xf16, #ptl.dims<[embed]>>) hypers(%h, %h, %h, %h, %h : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) step %step : tensor<i64> names ["w"] -> (tensor<8xf32, #ptl.dims<[embed]>>)
  return
}
