// RUN: ptl-opt %s --split-input-file --verify-diagnostics

!w = tensor<8x4xf32, #ptl.dims<[ffn, embed]>>
spmd.mesh @mesh [dp = 2]
func.func @too_small(%w: !w) {
  // expected-error @+1 {{the parts have room for 30 elements, the bucket has 32}}
  %p = spmd.bucket_slice %w over @mesh [dp] : !w -> tensor<15xf32, #ptl.dims<[part]>>
  return
}

// -----

!w = tensor<8x4xf32, #ptl.dims<[ffn, embed]>>
spmd.mesh @mesh [dp = 2]
func.func @not_flat(%w: !w) {
  // expected-error @+1 {{the part of a bucket must be flat}}
  %p = spmd.bucket_reduce_scatter sum %w over @mesh [dp] : !w -> tensor<4x4xf32, #ptl.dims<[ffn, embed]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2]
func.func @other_type(%p: tensor<16xf32, #ptl.dims<[part]>>) {
  // expected-error @+1 {{a bucket of 'f32' can't hold}}
  %w = spmd.bucket_all_gather %p over @mesh [dp] : tensor<16xf32, #ptl.dims<[part]>> -> tensor<4xi32, #ptl.dims<[embed]>>
  return
}

// -----

spmd.mesh @mesh [dp = 2]
func.func @no_axis(%p: tensor<16xf32, #ptl.dims<[part]>>) {
  // expected-error @+1 {{mesh 'mesh' has no axis 'tp'}}
  %w = spmd.bucket_all_gather %p over @mesh [tp] : tensor<16xf32, #ptl.dims<[part]>> -> tensor<4xf32, #ptl.dims<[embed]>>
  return
}

// -----

func.func @digits(%p: tensor<16xf32, #ptl.dims<[part]>>) {
  // expected-error @+1 {{the result must be 12 integers of 64 bits}}
  %s = spmd.square_sum %p members [[]] : (tensor<16xf32, #ptl.dims<[part]>>) -> tensor<10xi64, #ptl.dims<[digits]>>
  return
}

// -----

func.func @members(%p: tensor<16xf32, #ptl.dims<[part]>>) {
  // expected-error @+1 {{has 2 lists of members for 1 operands}}
  %s = spmd.square_sum %p members [[], []] : (tensor<16xf32, #ptl.dims<[part]>>) -> tensor<12xi64, #ptl.dims<[digits]>>
  return
}

// -----

func.func @root(%p: tensor<16xf32, #ptl.dims<[part]>>) {
  // expected-error @+1 {{takes sums of 12 integers of 64 bits and returns a float scalar}}
  %s = spmd.root %p : (tensor<16xf32, #ptl.dims<[part]>>) -> tensor<f32>
  return
}
