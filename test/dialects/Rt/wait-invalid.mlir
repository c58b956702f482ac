// RUN: ptl-opt %s --split-input-file --verify-diagnostics

!a = tensor<4xf32, #ptl.dims<[embed]>>
spmd.mesh @mesh [dp = 2]
func.func @not_started(%a: !a) -> !a {
  %0 = spmd.all_reduce sum %a over @mesh [dp] : !a -> !a
  // expected-error @+1 {{takes all results, in order, of one started collective of its block}}
  %1 = rt.wait %0 : !a -> !a
  return %1 : !a
}

// -----

!a = tensor<4xf32, #ptl.dims<[embed]>>
spmd.mesh @mesh [dp = 2]
func.func @other_order(%a: !a, %b: !a) -> !a {
  %0:2 = spmd.all_reduce sum %a, %b over @mesh [dp] {rt.started} : !a, !a -> !a, !a
  // expected-error @+1 {{takes all results, in order, of one started collective of its block}}
  %1:2 = rt.wait %0#1, %0#0 : !a, !a -> !a, !a
  return %1#0 : !a
}

// -----

!a = tensor<4xf32, #ptl.dims<[embed]>>
spmd.mesh @mesh [dp = 2]
func.func @keeps_other(%a: !a, %b: !a) -> !a {
  %0 = spmd.all_reduce sum %a over @mesh [dp] {rt.started} : !a -> !a
  // expected-error @+1 {{keeps a value that its collective doesn't read}}
  %1 = rt.wait %0 keeps %b : !a : !a -> !a
  return %1 : !a
}

// -----

!a = tensor<4xf32, #ptl.dims<[embed]>>
!b = tensor<4xf32, #ptl.dims<[ffn]>>
spmd.mesh @mesh [dp = 2]
func.func @other_type(%a: !a) -> !b {
  %0 = spmd.all_reduce sum %a over @mesh [dp] {rt.started} : !a -> !a
  // expected-error @+1 {{must return values of the types that it takes}}
  %1 = rt.wait %0 : !a -> !b
  return %1 : !b
}

// -----

!a = tensor<4xf32, #ptl.dims<[embed]>>
spmd.mesh @mesh [dp = 2]
func.func @read_before(%a: !a) -> (!a, !a) {
  // expected-error @+1 {{is started, so one rt.wait must be all that reads its results}}
  %0 = spmd.all_reduce sum %a over @mesh [dp] {rt.started} : !a -> !a
  %1 = rt.wait %0 : !a -> !a
  return %0, %1 : !a, !a
}

// -----

!a = tensor<4xf32, #ptl.dims<[embed]>>
func.func @no_collective(%a: !a) -> !a {
  // expected-error @+1 {{'rt.started' is a unit attribute of collectives}}
  %0 = ptl.elementwise neg %a {rt.started} : (!a) -> !a
  return %0 : !a
}

// -----

// What starts in the last micro-batch reads what a loop makes.
!a = tensor<8xf32, #ptl.dims<[seq]>>
spmd.mesh @mesh [dp = 2]
func.func @f(%a: !a) -> !a {
  // expected-error @+1 {{'rt.in_last' is an attribute of started collectives that read what a loop over micro-batches makes}}
  %0 = spmd.all_reduce sum %a over @mesh [dp] {rt.in_last, rt.started} : !a -> !a
  %1 = rt.wait %0 : !a -> !a
  return %1 : !a
}
