// RUN: ptl-opt %s --split-input-file --verify-diagnostics

// One case per constraint: @op_cN breaks (CN).

func.func @softmax_c1(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{operand [batch, embed] has no dimension 'seq'}}
  %y = ptl.softmax %x over seq : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @softmax_c2(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{operand or result must be}}
  %y = ptl.softmax %x over embed : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4xf32, #ptl.dims<[batch]>>
  return
}

// -----

func.func @softmax_grad_c1(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{operand [batch, embed] has no dimension 'seq'}}
  %y = ptl.softmax_grad %x, %x over seq : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @softmax_grad_c2(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>, %r: tensor<4xf32, #ptl.dims<[batch]>>) {
  // expected-error @below {{operand or result must be}}
  %y = ptl.softmax_grad %x, %r over embed : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4xf32, #ptl.dims<[batch]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @log_softmax_c1(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{operand [batch, embed] has no dimension 'seq'}}
  %y = ptl.log_softmax %x over seq : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @log_softmax_c2(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{operand or result must be}}
  %y = ptl.log_softmax %x over embed : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4xf32, #ptl.dims<[batch]>>
  return
}

// -----

func.func @log_softmax_grad_c1(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{operand [batch, embed] has no dimension 'seq'}}
  %y = ptl.log_softmax_grad %x, %x over seq : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @log_softmax_grad_c2(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>, %r: tensor<4xf32, #ptl.dims<[batch]>>) {
  // expected-error @below {{operand or result must be}}
  %y = ptl.log_softmax_grad %x, %r over embed : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4xf32, #ptl.dims<[batch]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @softmax_c2_type(%x: tensor<4xi32, #ptl.dims<[batch]>>) {
  // expected-error @below {{needs floating-point elements}}
  %y = ptl.softmax %x over batch : tensor<4xi32, #ptl.dims<[batch]>> -> tensor<4xi32, #ptl.dims<[batch]>>
  return
}

// -----

func.func @layer_norm_c1(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{operand [batch, embed] has no dimension 'seq'}}
  %y:3 = ptl.layer_norm %x over seq eps 1 : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4xf32, #ptl.dims<[batch]>>, tensor<4xf32, #ptl.dims<[batch]>>)
  return
}

// -----

func.func @layer_norm_c2(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{statistic must be}}
  %y:3 = ptl.layer_norm %x over embed eps 1 : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4xf32, #ptl.dims<[batch]>>, tensor<f32>)
  return
}

// -----

func.func @layer_norm_grad_c1(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>, %r: tensor<4xf32, #ptl.dims<[batch]>>) {
  // expected-error @below {{operand [batch, embed] has no dimension 'seq'}}
  %y = ptl.layer_norm_grad %x, %x, %r, %r over seq : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4xf32, #ptl.dims<[batch]>>, tensor<4xf32, #ptl.dims<[batch]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @layer_norm_grad_c2(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>, %r: tensor<4xf32, #ptl.dims<[batch]>>) {
  // expected-error @below {{statistic must be}}
  %y = ptl.layer_norm_grad %x, %x, %r, %x over embed : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4xf32, #ptl.dims<[batch]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @rms_norm_c1(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{operand [batch, embed] has no dimension 'seq'}}
  %y:2 = ptl.rms_norm %x over seq eps 1 : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4xf32, #ptl.dims<[batch]>>)
  return
}

// -----

func.func @rms_norm_c2(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{statistic must be}}
  %y:2 = ptl.rms_norm %x over embed eps 1 : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<f32>)
  return
}

// -----

func.func @rms_norm_grad_c1(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>, %r: tensor<4xf32, #ptl.dims<[batch]>>) {
  // expected-error @below {{operand [batch, embed] has no dimension 'seq'}}
  %y = ptl.rms_norm_grad %x, %x, %r over seq : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4xf32, #ptl.dims<[batch]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @rms_norm_grad_c2(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{statistic must be}}
  %y = ptl.rms_norm_grad %x, %x, %x over embed : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @cross_entropy_c1(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>, %t: tensor<4xi32, #ptl.dims<[batch]>>) {
  // expected-error @below {{operand [batch, embed] has no dimension 'seq'}}
  %y:2 = ptl.cross_entropy %x, %t over seq : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4xi32, #ptl.dims<[batch]>>) -> (tensor<4xf32, #ptl.dims<[batch]>>, tensor<4xf32, #ptl.dims<[batch]>>)
  return
}

// -----

func.func @cross_entropy_c2(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>, %t: tensor<4xf32, #ptl.dims<[batch]>>) {
  // expected-error @below {{targets must be i32, are 'f32'}}
  %y:2 = ptl.cross_entropy %x, %t over embed : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4xf32, #ptl.dims<[batch]>>) -> (tensor<4xf32, #ptl.dims<[batch]>>, tensor<4xf32, #ptl.dims<[batch]>>)
  return
}

// -----

func.func @cross_entropy_c2_dims(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>, %t: tensor<i32>) {
  // expected-error @below {{targets must have the dimensions [batch] of}}
  %y:2 = ptl.cross_entropy %x, %t over embed : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<i32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @cross_entropy_c3(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>, %t: tensor<4xi32, #ptl.dims<[batch]>>) {
  // expected-error @below {{value per target must be}}
  %y:2 = ptl.cross_entropy %x, %t over embed : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4xi32, #ptl.dims<[batch]>>) -> (tensor<4xf32, #ptl.dims<[batch]>>, tensor<f32>)
  return
}

// -----

func.func @cross_entropy_grad_c1(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>, %t: tensor<4xi32, #ptl.dims<[batch]>>, %r: tensor<4xf32, #ptl.dims<[batch]>>) {
  // expected-error @below {{operand [batch, embed] has no dimension 'seq'}}
  %y = ptl.cross_entropy_grad %r, %x, %t, %r over seq : (tensor<4xf32, #ptl.dims<[batch]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4xi32, #ptl.dims<[batch]>>, tensor<4xf32, #ptl.dims<[batch]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @cross_entropy_grad_c2(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>, %r: tensor<4xf32, #ptl.dims<[batch]>>) {
  // expected-error @below {{targets must be i32}}
  %y = ptl.cross_entropy_grad %r, %x, %r, %r over embed : (tensor<4xf32, #ptl.dims<[batch]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4xf32, #ptl.dims<[batch]>>, tensor<4xf32, #ptl.dims<[batch]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @cross_entropy_grad_c3(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>, %t: tensor<4xi32, #ptl.dims<[batch]>>, %r: tensor<4xf32, #ptl.dims<[batch]>>) {
  // expected-error @below {{result must be}}
  %y = ptl.cross_entropy_grad %r, %x, %t, %r over embed : (tensor<4xf32, #ptl.dims<[batch]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4xi32, #ptl.dims<[batch]>>, tensor<4xf32, #ptl.dims<[batch]>>) -> tensor<4xf32, #ptl.dims<[batch]>>
  return
}

// -----

func.func @rope_c1(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{operand [batch, embed] has no dimension 'seq'}}
  %y = ptl.rope %x over embed along seq theta 10 : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @rope_c1_same(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{needs two dimensions, found 'embed' twice}}
  %y = ptl.rope %x over embed along embed theta 10 : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @rope_c2(%x: tensor<4x7xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{size of 'embed' must be even, is 7}}
  %y = ptl.rope %x over embed along batch theta 10 : tensor<4x7xf32, #ptl.dims<[batch, embed]>> -> tensor<4x7xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @rope_c3(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{operand or result must be}}
  %y = ptl.rope %x over embed along batch theta 10 : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4xf32, #ptl.dims<[batch]>>
  return
}
