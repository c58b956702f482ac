// RUN: ptl-opt %s --split-input-file --verify-diagnostics

// One case per constraint: @op_cN breaks (CN).

func.func @gather_c1(%t: tensor<50x8xf32, #ptl.dims<[vocab, embed]>>, %i: tensor<4xi32, #ptl.dims<[batch]>>) {
  // expected-error @below {{table [vocab, embed] has no dimension 'seq'}}
  %y = ptl.gather %t[seq : %i] : (tensor<50x8xf32, #ptl.dims<[vocab, embed]>>, tensor<4xi32, #ptl.dims<[batch]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @gather_c1_own(%t: tensor<50x8xf32, #ptl.dims<[vocab, embed]>>, %i: tensor<4xi32, #ptl.dims<[vocab]>>) {
  // expected-error @below {{indices have the dimension 'vocab' that they index}}
  %y = ptl.gather %t[vocab : %i] : (tensor<50x8xf32, #ptl.dims<[vocab, embed]>>, tensor<4xi32, #ptl.dims<[vocab]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @gather_c2(%t: tensor<50x8xf32, #ptl.dims<[vocab, embed]>>, %i: tensor<4xf32, #ptl.dims<[batch]>>) {
  // expected-error @below {{indices must be i32, are 'f32'}}
  %y = ptl.gather %t[vocab : %i] : (tensor<50x8xf32, #ptl.dims<[vocab, embed]>>, tensor<4xf32, #ptl.dims<[batch]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @gather_c2_size(%t: tensor<50x8xf32, #ptl.dims<[vocab, embed]>>, %i: tensor<4xi32, #ptl.dims<[embed]>>) {
  // expected-error @below {{sizes of 'embed' differ: 8 and 4}}
  %y = ptl.gather %t[vocab : %i] : (tensor<50x8xf32, #ptl.dims<[vocab, embed]>>, tensor<4xi32, #ptl.dims<[embed]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @gather_c3(%t: tensor<50x8xf32, #ptl.dims<[vocab, embed]>>, %i: tensor<4xi32, #ptl.dims<[batch]>>) {
  // expected-error @below {{result must be}}
  %y = ptl.gather %t[vocab : %i] : (tensor<50x8xf32, #ptl.dims<[vocab, embed]>>, tensor<4xi32, #ptl.dims<[batch]>>) -> tensor<8x4xf32, #ptl.dims<[embed, batch]>>
  return
}

// -----

func.func @scatter_add_c1(%i: tensor<4xi32, #ptl.dims<[batch]>>, %u: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{result [vocab, embed] has no dimension 'seq'}}
  %y = ptl.scatter_add %i, %u over seq : (tensor<4xi32, #ptl.dims<[batch]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> tensor<50x8xf32, #ptl.dims<[vocab, embed]>>
  return
}

// -----

func.func @scatter_add_c1_own(%i: tensor<4xi32, #ptl.dims<[vocab]>>, %u: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{indices and updates can't have the dimension 'vocab' that is indexed}}
  %y = ptl.scatter_add %i, %u over vocab : (tensor<4xi32, #ptl.dims<[vocab]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> tensor<50x8xf32, #ptl.dims<[vocab, embed]>>
  return
}

// -----

func.func @scatter_add_c2(%i: tensor<4xi32, #ptl.dims<[batch]>>, %u: tensor<4xf32, #ptl.dims<[batch]>>) {
  // expected-error @below {{updates [batch] has no dimension 'embed'}}
  %y = ptl.scatter_add %i, %u over vocab : (tensor<4xi32, #ptl.dims<[batch]>>, tensor<4xf32, #ptl.dims<[batch]>>) -> tensor<50x8xf32, #ptl.dims<[vocab, embed]>>
  return
}

// -----

func.func @scatter_add_c2_more(%i: tensor<4xi32, #ptl.dims<[batch]>>, %u: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{updates [batch, embed] must have the dimensions [batch]}}
  %y = ptl.scatter_add %i, %u over vocab : (tensor<4xi32, #ptl.dims<[batch]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> tensor<50xf32, #ptl.dims<[vocab]>>
  return
}

// -----

func.func @scatter_add_c3(%i: tensor<4xi32, #ptl.dims<[batch]>>, %u: tensor<4x8xf32, #ptl.dims<[batch, embed]>>, %n: tensor<4xf32, #ptl.dims<[batch]>>) {
  // expected-error @below {{init must be}}
  %y = ptl.scatter_add %i, %u over vocab into %n : (tensor<4xi32, #ptl.dims<[batch]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4xf32, #ptl.dims<[batch]>>) -> tensor<50x8xf32, #ptl.dims<[vocab, embed]>>
  return
}

// -----

func.func @dot_c1(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>, %w: tensor<8x2xf32, #ptl.dims<[embed, ffn]>>) {
  // expected-error @below {{neither operand has the summed dimension 'seq'}}
  %y = ptl.dot %x, %w over [seq] : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<8x2xf32, #ptl.dims<[embed, ffn]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @dot_c2(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>, %w: tensor<7x2xf32, #ptl.dims<[embed, ffn]>>) {
  // expected-error @below {{sizes of 'embed' differ: 8 and 7}}
  %y = ptl.dot %x, %w over [embed] : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<7x2xf32, #ptl.dims<[embed, ffn]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @dot_c2_type(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>, %w: tensor<8xf64, #ptl.dims<[embed]>>) {
  // expected-error @below {{operands need one element type}}
  %y = ptl.dot %x, %w over [embed] : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<8xf64, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[batch]>>
  return
}

// -----

func.func @dot_c3(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>, %w: tensor<8x2xf32, #ptl.dims<[embed, ffn]>>) {
  // expected-error @below {{result must have the dimensions [batch, ffn] in any order, has [batch]}}
  %y = ptl.dot %x, %w over [embed] : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<8x2xf32, #ptl.dims<[embed, ffn]>>) -> tensor<4xf32, #ptl.dims<[batch]>>
  return
}

// -----

func.func @reduce_c1(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{operand [batch, embed] has no dimension 'seq'}}
  %y = ptl.reduce sum %x over [seq] : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4xf32, #ptl.dims<[batch]>>
  return
}

// -----

func.func @reduce_c1_twice(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{dimension 'embed' is folded twice}}
  %y = ptl.reduce sum %x over [embed, embed] : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4xf32, #ptl.dims<[batch]>>
  return
}

// -----

func.func @reduce_c3(%x: tensor<4xi1, #ptl.dims<[batch]>>) {
  // expected-error @below {{can't fold i1; cast it first}}
  %y = ptl.reduce sum %x over [batch] : tensor<4xi1, #ptl.dims<[batch]>> -> tensor<i1>
  return
}

// -----

func.func @reduce_c2(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{result must be}}
  %y = ptl.reduce sum %x over [embed] : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<f32>
  return
}

// -----

func.func @argmax_c1(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{operand [batch, embed] has no dimension 'seq'}}
  %y = ptl.argmax %x over seq : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4xi32, #ptl.dims<[batch]>>
  return
}

// -----

func.func @argmax_c2(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{result must be}}
  %y = ptl.argmax %x over embed : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4xf32, #ptl.dims<[batch]>>
  return
}

// -----

func.func @top_k_c1(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{can't take 9 of 8 elements}}
  %y, %i = ptl.top_k %x embed -> k : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> (tensor<4x9xf32, #ptl.dims<[batch, k]>>, tensor<4x9xi32, #ptl.dims<[batch, k]>>)
  return
}

// -----

func.func @top_k_c2(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{result must be}}
  %y, %i = ptl.top_k %x embed -> k : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> (tensor<4x2xf32, #ptl.dims<[batch, k]>>, tensor<4x2xf32, #ptl.dims<[batch, k]>>)
  return
}
