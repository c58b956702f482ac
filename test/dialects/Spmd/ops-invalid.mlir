// RUN: ptl-opt %s --split-input-file --verify-diagnostics

// One case per constraint: @op_cN breaks (CN).

// expected-error @below {{axis 'dp' must have a size of at least 1, is 0}}
spmd.mesh @mesh [dp = 0]

// -----

// expected-error @below {{axis 'dp' is given twice}}
spmd.mesh @mesh [dp = 2, dp = 2]

// -----

// @mesh_c2
// expected-error @below {{a byte costs at least 1 on the link of axis 'dp', not 5.000000e-01}}
spmd.mesh @mesh [dp = 2 link 0.5]

// -----

// expected-error @below {{axis 'dp' occurs twice in a sharding}}
func.func @sharding_c1(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>> {spmd.sharding = #spmd.sharding<[[dp], [dp]]>}) {
  return
}

// -----

// expected-error @below {{expected sum, max or min after 'partial', found 'mean'}}
func.func @sharding_kind(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>> {spmd.sharding = #spmd.sharding<[[], []] partial mean [dp]>}) {
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @all_reduce_c1(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{needs at least one axis}}
  %y = spmd.all_reduce sum %x over @mesh [] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @all_reduce_c1_twice(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{axis 'dp' is listed twice}}
  %y = spmd.all_reduce sum %x over @mesh [dp, dp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @all_reduce_c2(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{there is no mesh 'other'}}
  %y = spmd.all_reduce sum %x over @other [dp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @all_reduce_c2_axis(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{mesh 'mesh' has no axis 'pp'}}
  %y = spmd.all_reduce sum %x over @mesh [pp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @all_reduce_c3(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{results must have the types of the operands}}
  %y = spmd.all_reduce sum %x over @mesh [dp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<8x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @all_reduce_c4(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{has 2 members for 1 operands}}
  %y = spmd.all_reduce sum %x over @mesh [dp] {members = [#spmd.member<"" because "">, #spmd.member<"" because "">]} : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @all_gather_c1(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{needs at least one axis}}
  %y = spmd.all_gather %x along seq over @mesh [] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<9x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @all_gather_c2(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{mesh 'mesh' has no axis 'pp'}}
  %y = spmd.all_gather %x along seq over @mesh [pp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<9x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @all_gather_c3(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{elements along 'seq' make shards of}}
  %y = spmd.all_gather %x along seq over @mesh [dp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<9x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @all_gather_c3_dim(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{there is no dimension 'depth' in}}
  %y = spmd.all_gather %x along depth over @mesh [dp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<9x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @reduce_scatter_c1(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{needs at least one axis}}
  %y = spmd.reduce_scatter sum %x along seq over @mesh [] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @reduce_scatter_c2(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{mesh 'mesh' has no axis 'pp'}}
  %y = spmd.reduce_scatter sum %x along seq over @mesh [pp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @reduce_scatter_c3(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{elements along 'seq' make shards of}}
  %y = spmd.reduce_scatter sum %x along seq over @mesh [dp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @reduce_scatter_c3_dim(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{there is no dimension 'depth' in}}
  %y = spmd.reduce_scatter sum %x along depth over @mesh [dp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @slice_c1(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{needs at least one axis}}
  %y = spmd.slice %x along seq over @mesh [] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @slice_c2(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{mesh 'mesh' has no axis 'pp'}}
  %y = spmd.slice %x along seq over @mesh [pp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @slice_c3(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{elements along 'seq' make shards of}}
  %y = spmd.slice %x along seq over @mesh [dp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2, tp = 2]
func.func @slice_c3_dim(%x: tensor<4x6xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{there is no dimension 'depth' in}}
  %y = spmd.slice %x along depth over @mesh [dp] : tensor<4x6xf32, #ptl.dims<[seq, heads]>> -> tensor<4x6xf32, #ptl.dims<[seq, heads]>>
  return
}
