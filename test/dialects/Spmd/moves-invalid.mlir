// RUN: ptl-opt %s --split-input-file --verify-diagnostics

// One case per constraint: @op_cN breaks (CN).

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @all_to_all_c1(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{needs at least one axis}}
  %y = spmd.all_to_all %x from seq to heads over @mesh [] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<8x3xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @all_to_all_c2(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{mesh 'mesh' has no axis 'pp'}}
  %y = spmd.all_to_all %x from seq to heads over @mesh [pp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<8x3xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @all_to_all_c3(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{6 elements along 'heads' make shards of 3}}
  %y = spmd.all_to_all %x from seq to heads over @mesh [tp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<8x4xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @all_to_all_c3_same(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{needs two different dimensions}}
  %y = spmd.all_to_all %x from seq to seq over @mesh [tp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<8x3xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @all_to_all_c3_dim(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{there is no dimension 'depth' in [seq, heads]}}
  %y = spmd.all_to_all %x from seq to depth over @mesh [tp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<8x3xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @all_to_all_c3_result(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{there is no dimension 'seq' in the result}}
  %y = spmd.all_to_all %x from seq to heads over @mesh [tp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<8x3xf32, #ptl.dims<[key, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @keep_c1(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{needs at least one axis}}
  %y = spmd.keep %x over @mesh [] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @keep_c2(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{mesh 'mesh' has no axis 'pp'}}
  %y = spmd.keep %x over @mesh [pp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @keep_c3(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{the result must have the operand's type}}
  %y = spmd.keep %x over @mesh [dp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<8x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

func.func @constrain_c2(%x: tensor<4xf32, #ptl.dims<[seq]>>) {
  // expected-error @below {{needs places of the plan's rules, none of them negative}}
  %y = spmd.constrain %x by [-1] : tensor<4xf32, #ptl.dims<[seq]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @mask_c1(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{the result must have the operand's type}}
  %y = spmd.mask %x fill 0 cuts <[seq global 7 axes [dp]]> on @mesh : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<8x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @mask_c2(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{needs at least one cut dimension}}
  %y = spmd.mask %x fill 0 cuts <[]> on @mesh : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @mask_c2_dim(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{there is no dimension 'batch' in [seq, heads]}}
  %y = spmd.mask %x fill 0 cuts <[batch global 7 axes [dp]]> on @mesh : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @mask_c3(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{mesh 'mesh' has no axis 'pp'}}
  %y = spmd.mask %x fill 0 cuts <[seq global 7 axes [pp]]> on @mesh : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @permute_c1(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{needs at least one axis}}
  %y = spmd.permute %x from <[[dp], []]> to <[[dp], []]> over @mesh [] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @permute_c2(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{mesh 'mesh' has no axis 'pp'}}
  %y = spmd.permute %x from <[[dp], []]> to <[[pp], []]> over @mesh [dp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @permute_c3(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{the result must have the operand's type}}
  %y = spmd.permute %x from <[[dp], []]> to <[[tp], []]> over @mesh [dp, tp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<8x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @permute_c4_rank(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{a sharding of 1 dimensions for a value of 2}}
  %y = spmd.permute %x from <[[dp]]> to <[[tp]]> over @mesh [dp, tp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @permute_c4_partial(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{what is pending can't be in a permute}}
  %y = spmd.permute %x from <[[dp], []] partial sum [tp]> to <[[dp], []]> over @mesh [dp, tp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 4]
func.func @permute_c4_shards(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{dimension 0 isn't cut into the same shards}}
  %y = spmd.permute %x from <[[dp], []]> to <[[tp], []]> over @mesh [dp, tp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @permute_c5(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{moves shards over [dp, tp], not over [dp]}}
  %y = spmd.permute %x from <[[dp], []]> to <[[tp], []]> over @mesh [dp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [a = 2, b = 6, c = 3, d = 4]
func.func @permute_c6(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{the axes that are only in 'from' must have the sizes of those that are only in 'to'}}
  %y = spmd.permute %x from <[[a, b], []]> to <[[c, d], []]> over @mesh [a, b, c, d] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  return
}
