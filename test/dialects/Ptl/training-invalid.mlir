// RUN: ptl-opt %s --split-input-file --verify-diagnostics

// One case per constraint: @op_cN breaks (CN).

func.func @accumulate_c1(%x: tensor<f32>) {
  // expected-error @below {{needs at least one piece, found 0}}
  %s = ptl.accumulate pieces 0 (%k) -> tensor<f32> {
    ptl.yield %x : tensor<f32>
  }
  return
}

// -----

func.func @accumulate_c2(%x: tensor<f32>) {
  // expected-error @below {{the body needs one argument of type index}}
  %s = "ptl.accumulate"() <{pieces = 2 : i64}> ({
  ^bb0(%k: i32):
    ptl.yield %x : tensor<f32>
  }) : () -> tensor<f32>
  return
}

// -----

func.func @accumulate_c3(%x: tensor<f32>) {
  // expected-error @below {{the body must yield values of the results' types}}
  %s = ptl.accumulate pieces 2 (%k) -> tensor<i32> {
    ptl.yield %x : tensor<f32>
  }
  return
}

// -----

func.func @accumulate_c3_bool(%x: tensor<i1>) {
  // expected-error @below {{can't add up i1; cast it first}}
  %s = ptl.accumulate pieces 2 (%k) -> tensor<i1> {
    ptl.yield %x : tensor<i1>
  }
  return
}

// -----

func.func @microbatch_c1(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>, %k: index) {
  // expected-error @below {{operand [batch, embed] has no dimension 'seq'}}
  %y = ptl.microbatch %x[%k] of 2 along seq : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @microbatch_c2(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>, %k: index) {
  // expected-error @below {{result must be}}
  %y = ptl.microbatch %x[%k] of 3 along batch : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<1x8xf32, #ptl.dims<[batch, embed]>>
  return
}

// -----

func.func @global_norm_c1(%x: tensor<4xi32, #ptl.dims<[batch]>>) {
  // expected-error @below {{needs floating-point elements}}
  %y = ptl.global_norm %x : (tensor<4xi32, #ptl.dims<[batch]>>) -> tensor<f32>
  return
}

// -----

func.func @global_norm_c2(%x: tensor<4xf32, #ptl.dims<[batch]>>) {
  // expected-error @below {{result must be a scalar}}
  %y = ptl.global_norm %x : (tensor<4xf32, #ptl.dims<[batch]>>) -> tensor<4xf32, #ptl.dims<[batch]>>
  return
}

// -----

func.func @optimize_c1(%w: tensor<8xf32, #ptl.dims<[embed]>>, %g: tensor<4xf32, #ptl.dims<[batch]>>, %m: tensor<8xf32, #ptl.dims<[embed]>>, %h: tensor<f32>, %step: tensor<i64>) {
  // expected-error @below {{gradients (or their bf16) and new weights must have the types of the weights}}
  %r:2 = ptl.optimize lion weights(%w : tensor<8xf32, #ptl.dims<[embed]>>) grads(%g : tensor<4xf32, #ptl.dims<[batch]>>) states(%m : tensor<8xf32, #ptl.dims<[embed]>>) hypers(%h, %h, %h, %h, %h : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) step %step : tensor<i64> names ["w"] -> (tensor<8xf32, #ptl.dims<[embed]>>) states(tensor<8xf32, #ptl.dims<[embed]>>)
  return
}

// -----

func.func @optimize_c2(%w: tensor<8xf32, #ptl.dims<[embed]>>, %g: tensor<8xf32, #ptl.dims<[embed]>>, %m: tensor<8xf32, #ptl.dims<[embed]>>, %h: tensor<f32>, %step: tensor<i64>) {
  // expected-error @below {{'adamw' can't have 1 states for 1 weights}}
  %r:2 = ptl.optimize adamw weights(%w : tensor<8xf32, #ptl.dims<[embed]>>) grads(%g : tensor<8xf32, #ptl.dims<[embed]>>) states(%m : tensor<8xf32, #ptl.dims<[embed]>>) hypers(%h, %h, %h, %h, %h, %h : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) step %step : tensor<i64> names ["w"] -> (tensor<8xf32, #ptl.dims<[embed]>>) states(tensor<8xf32, #ptl.dims<[embed]>>)
  return
}

// -----

func.func @optimize_c2_results(%w: tensor<8xf32, #ptl.dims<[embed]>>, %g: tensor<8xf32, #ptl.dims<[embed]>>, %m: tensor<8xf32, #ptl.dims<[embed]>>, %h: tensor<f32>, %step: tensor<i64>) {
  // expected-error @below {{new states must have the types of the states}}
  %r:2 = ptl.optimize lion weights(%w : tensor<8xf32, #ptl.dims<[embed]>>) grads(%g : tensor<8xf32, #ptl.dims<[embed]>>) states(%m : tensor<8xf32, #ptl.dims<[embed]>>) hypers(%h, %h, %h, %h, %h : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) step %step : tensor<i64> names ["w"] -> (tensor<8xf32, #ptl.dims<[embed]>>) states(tensor<4xf32, #ptl.dims<[batch]>>)
  return
}

// -----

func.func @optimize_c2_apply(%w: tensor<8xf32, #ptl.dims<[embed]>>, %g: tensor<8xf32, #ptl.dims<[embed]>>, %m: tensor<8xf32, #ptl.dims<[embed]>>, %h: tensor<f32>, %step: tensor<i64>) {
  // expected-error @below {{'apply' can't have 1 states for 1 weights}}
  %r:2 = ptl.optimize apply weights(%w : tensor<8xf32, #ptl.dims<[embed]>>) grads(%g : tensor<8xf32, #ptl.dims<[embed]>>) states(%m : tensor<8xf32, #ptl.dims<[embed]>>) hypers(%h, %h, %h : tensor<f32>, tensor<f32>, tensor<f32>) step %step : tensor<i64> names ["w"] -> (tensor<8xf32, #ptl.dims<[embed]>>) states(tensor<8xf32, #ptl.dims<[embed]>>)
  return
}

// -----

func.func @optimize_c3_muon(%w: tensor<8xf32, #ptl.dims<[embed]>>, %g: tensor<8xf32, #ptl.dims<[embed]>>, %m: tensor<8xf32, #ptl.dims<[embed]>>, %h: tensor<f32>, %step: tensor<i64>) {
  // expected-error @below {{'muon' takes 2 hyper-parameters, found 1}}
  %r:2 = ptl.optimize muon weights(%w : tensor<8xf32, #ptl.dims<[embed]>>) grads(%g : tensor<8xf32, #ptl.dims<[embed]>>) states(%m : tensor<8xf32, #ptl.dims<[embed]>>) hypers(%h : tensor<f32>) step %step : tensor<i64> names ["w"] -> (tensor<8xf32, #ptl.dims<[embed]>>) states(tensor<8xf32, #ptl.dims<[embed]>>)
  return
}

// -----

func.func @optimize_c3(%w: tensor<8xf32, #ptl.dims<[embed]>>, %g: tensor<8xf32, #ptl.dims<[embed]>>, %m: tensor<8xf32, #ptl.dims<[embed]>>, %h: tensor<f32>, %step: tensor<i64>) {
  // expected-error @below {{'lion' takes 5 hyper-parameters, found 4}}
  %r:2 = ptl.optimize lion weights(%w : tensor<8xf32, #ptl.dims<[embed]>>) grads(%g : tensor<8xf32, #ptl.dims<[embed]>>) states(%m : tensor<8xf32, #ptl.dims<[embed]>>) hypers(%h, %h, %h, %h : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) step %step : tensor<i64> names ["w"] -> (tensor<8xf32, #ptl.dims<[embed]>>) states(tensor<8xf32, #ptl.dims<[embed]>>)
  return
}

// -----

func.func @optimize_c3_type(%w: tensor<8xf32, #ptl.dims<[embed]>>, %g: tensor<8xf32, #ptl.dims<[embed]>>, %m: tensor<8xf32, #ptl.dims<[embed]>>, %h: tensor<i32>, %step: tensor<i64>) {
  // expected-error @below {{hyper-parameters must be float scalars}}
  %r:2 = ptl.optimize lion weights(%w : tensor<8xf32, #ptl.dims<[embed]>>) grads(%g : tensor<8xf32, #ptl.dims<[embed]>>) states(%m : tensor<8xf32, #ptl.dims<[embed]>>) hypers(%h, %h, %h, %h, %h : tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) step %step : tensor<i64> names ["w"] -> (tensor<8xf32, #ptl.dims<[embed]>>) states(tensor<8xf32, #ptl.dims<[embed]>>)
  return
}

// -----

func.func @optimize_c4(%w: tensor<8xf32, #ptl.dims<[embed]>>, %g: tensor<8xf32, #ptl.dims<[embed]>>, %m: tensor<8xf32, #ptl.dims<[embed]>>, %h: tensor<f32>, %step: tensor<i32>) {
  // expected-error @below {{step must be 'tensor<i64>', is 'tensor<i32>'}}
  %r:2 = ptl.optimize lion weights(%w : tensor<8xf32, #ptl.dims<[embed]>>) grads(%g : tensor<8xf32, #ptl.dims<[embed]>>) states(%m : tensor<8xf32, #ptl.dims<[embed]>>) hypers(%h, %h, %h, %h, %h : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) step %step : tensor<i32> names ["w"] -> (tensor<8xf32, #ptl.dims<[embed]>>) states(tensor<8xf32, #ptl.dims<[embed]>>)
  return
}

// -----

func.func @optimize_c5(%w: tensor<8xf32, #ptl.dims<[embed]>>, %g: tensor<8xf32, #ptl.dims<[embed]>>, %m: tensor<8xf32, #ptl.dims<[embed]>>, %h: tensor<f32>, %step: tensor<i64>) {
  // expected-error @below {{needs one name per weight, found 2 for 1}}
  %r:2 = ptl.optimize lion weights(%w : tensor<8xf32, #ptl.dims<[embed]>>) grads(%g : tensor<8xf32, #ptl.dims<[embed]>>) states(%m : tensor<8xf32, #ptl.dims<[embed]>>) hypers(%h, %h, %h, %h, %h : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) step %step : tensor<i64> names ["w", "v"] -> (tensor<8xf32, #ptl.dims<[embed]>>) states(tensor<8xf32, #ptl.dims<[embed]>>)
  return
}
