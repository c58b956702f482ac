// RUN: ptl-opt %s --split-input-file --verify-diagnostics

// One case per constraint: @op_cN breaks (CN).

// expected-error @below {{a tensor of rank 2 needs 2 dimension names, found 1}}
func.func @names(%x: tensor<4x8xf32, #ptl.dims<[batch]>>) {
  return
}

// -----

func.func @twice_named(%x: tensor<4x4xf32, #ptl.dims<[batch, batch]>>) {
  // expected-error @below {{must be static tensor of a number type whose dimensions have different names}}
  %y = ptl.stop_gradient %x : tensor<4x4xf32, #ptl.dims<[batch, batch]>> -> tensor<4x4xf32, #ptl.dims<[batch, batch]>>
  return
}

// -----

func.func @constant_c1() {
  // expected-error @below {{number 5.000000e-01 is no value of type 'i32'}}
  %c = ptl.constant 0.5 : tensor<4xi32, #ptl.dims<[batch]>>
  return
}

// -----

func.func @iota_c1() {
  // expected-error @below {{result must be a tensor of i32 or i64 along 'seq'}}
  %c = ptl.iota seq : tensor<4xi32, #ptl.dims<[batch]>>
  return
}

// -----

func.func @random_c1(%s: tensor<i64>) {
  // expected-error @below {{needs floating-point elements}}
  %c = ptl.random uniform place "p" step %s : tensor<i64> -> tensor<4xi32, #ptl.dims<[batch]>>
  return
}

// -----

func.func @random_c2(%s: tensor<i32>) {
  // expected-error @below {{step must be 'tensor<i64>', is 'tensor<i32>'}}
  %c = ptl.random uniform place "p" step %s : tensor<i32> -> tensor<4xf32, #ptl.dims<[batch]>>
  return
}

// -----

func.func @stop_gradient_c1(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{result must be}}
  %y = ptl.stop_gradient %x : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4xf32, #ptl.dims<[batch]>>
  return
}

// -----

func.func @elementwise_c1(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{'add' takes 2 operands, found 1}}
  %y = ptl.elementwise add %x : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @elementwise_c2(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>, %y: tensor<8x4xf32, #ptl.dims<[embed, batch]>>) {
  // expected-error @below {{operands need the result's dimensions in the same order}}
  %z = ptl.elementwise add %x, %y : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<8x4xf32, #ptl.dims<[embed, batch]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @elementwise_c3(%x: tensor<4xi32, #ptl.dims<[batch]>>) {
  // expected-error @below {{'exp' needs numbers of one type}}
  %z = ptl.elementwise exp %x : (tensor<4xi32, #ptl.dims<[batch]>>) -> tensor<4xi32, #ptl.dims<[batch]>>
  return
}

// -----

func.func @elementwise_c3_select(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{'select' needs an i1 condition and two operands of the result's type}}
  %z = ptl.elementwise select %x, %x, %x : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @elementwise_c3_compare(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{'lt' needs operands of one type and an i1 result}}
  %z = ptl.elementwise lt %x, %x : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @elementwise_c3_logic(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{'not' needs i1 operands and result}}
  %z = ptl.elementwise not %x : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @broadcast_c1(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{result [batch] has no dimension 'embed'}}
  %y = ptl.broadcast %x : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4xf32, #ptl.dims<[batch]>>
  return
}

// -----

func.func @broadcast_c1_size(%x: tensor<4xf32, #ptl.dims<[batch]>>) {
  // expected-error @below {{size of 'batch' must stay 4, is 5}}
  %y = ptl.broadcast %x : tensor<4xf32, #ptl.dims<[batch]>> -> tensor<5xf32, #ptl.dims<[batch]>>
  return
}

// -----

func.func @broadcast_c2(%x: tensor<4xf32, #ptl.dims<[batch]>>) {
  // expected-error @below {{operand and result need one element type}}
  %y = ptl.broadcast %x : tensor<4xf32, #ptl.dims<[batch]>> -> tensor<4xi32, #ptl.dims<[batch]>>
  return
}

// -----

func.func @reshape_c1(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{operand [batch, embed] has no dimension 'seq'}}
  %y = ptl.reshape %x [[seq] -> [a]] : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @reshape_c1_twice(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{dimension 'embed' is in two arrows}}
  %y = ptl.reshape %x [[embed] -> [a], [embed] -> [b]] : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4x8x8xf32, #ptl.dims<[batch, a, b]>>
  return
}

// -----

func.func @reshape_c1_empty(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{an arrow needs names on both sides}}
  %y = ptl.reshape %x [[] -> [embed]] : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @reshape_c2(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{sizes differ: [embed] has 8 elements, [a, b] has 6}}
  %y = ptl.reshape %x [[embed] -> [a, b]] : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4x2x3xf32, #ptl.dims<[batch, a, b]>>
  return
}

// -----

func.func @reshape_c3(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{result must be}}
  %y = ptl.reshape %x [[embed] -> [a, b]] : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4x4x2xf32, #ptl.dims<[batch, b, a]>>
  return
}

// -----

func.func @concat_c1(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{needs one name per operand, found 1 names for 2 operands}}
  %y = ptl.concat %x, %x [embed] -> z : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> tensor<4x16xf32, #ptl.dims<[batch, z]>>
  return
}

// -----

func.func @concat_c2(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>, %y: tensor<8x4xf32, #ptl.dims<[embed, batch]>>) {
  // expected-error @below {{result must be}}
  %z = ptl.concat %x, %y [embed, embed] -> z : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<8x4xf32, #ptl.dims<[embed, batch]>>) -> tensor<4x16xf32, #ptl.dims<[batch, z]>>
  return
}

// -----

func.func @concat_c3(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{result must be}}
  %y = ptl.concat %x, %x [embed, embed] -> z : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> tensor<4x15xf32, #ptl.dims<[batch, z]>>
  return
}

// -----

func.func @slice_c1(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{operand [batch, embed] has no dimension 'seq'}}
  %y = ptl.slice %x seq -> a from 0 : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @slice_c2(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{elements 6 to 8 aren't all in 'embed', which has 8}}
  %y = ptl.slice %x embed -> a from 6 : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4x3xf32, #ptl.dims<[batch, a]>>
  return
}

// -----

func.func @slice_c3(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{result must be}}
  %y = ptl.slice %x embed -> a from 0 : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<3x4xf32, #ptl.dims<[a, batch]>>
  return
}

// -----

func.func @pad_c1(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{operand [batch, embed] has no dimension 'seq'}}
  %y = ptl.pad %x seq -> a before 0 value 0 : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @pad_c2(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{8 elements at 2 don't fit into 'a', which has 9}}
  %y = ptl.pad %x embed -> a before 2 value 0 : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4x9xf32, #ptl.dims<[batch, a]>>
  return
}

// -----

func.func @pad_c3(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
  // expected-error @below {{result must be}}
  %y = ptl.pad %x embed -> a before 0 value 0 : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<9x4xf32, #ptl.dims<[a, batch]>>
  return
}
