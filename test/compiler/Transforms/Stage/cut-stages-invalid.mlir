// RUN: ptl-opt %s --split-input-file --verify-diagnostics --stage-cut-stages

!x = tensor<4x8xf32, #ptl.dims<[batch, embed]>>

module attributes {ptl.stages = 2 : i64, ptl.train = {}, ptl.plan = {mesh = [{name = "pp", size = 2 : i64}], microbatches = 1 : i64,
    pipeline = {axis = "pp", parts = ["a.0", "a.1"], cuts = [], schedule = "gpipe", chunks = 1 : i64, orders = "", line = ""}}} {
  spmd.mesh @mesh [pp = 2]
  func.func @step(%x: !x {ptl.role = "data", ptl.path = "x"}) -> (tensor<f32> {ptl.role = "loss"}) {
    %s = ptl.accumulate pieces 1 (%k) -> tensor<f32> attributes {ptl.grad = [""]} {
      %y = ptl.elementwise neg %x {ptl.part = 1 : i64} : (!x) -> !x
      // expected-error@+1 {{can't be in part 0 of the pipeline: it uses a value of part 1}}
      %z = ptl.elementwise neg %y {ptl.part = 0 : i64} : (!x) -> !x
      %l = ptl.reduce sum %z over [batch, embed] {ptl.part = 2 : i64} : !x -> tensor<f32>
      ptl.yield %l : tensor<f32>
    }
    return %s : tensor<f32>
  }
}

// -----

// Part 4 is the backward of stage 0, which can't get what stage 1 makes in its forward.
!x = tensor<4x8xf32, #ptl.dims<[batch, embed]>>
module attributes {ptl.stages = 2 : i64, ptl.train = {}, ptl.plan = {mesh = [{name = "pp", size = 2 : i64}], microbatches = 1 : i64,
    pipeline = {axis = "pp", parts = ["a.0", "a.1"], cuts = [], schedule = "gpipe", chunks = 1 : i64, orders = "", line = ""}}} {
  spmd.mesh @mesh [pp = 2]
  func.func @step(%x: !x {ptl.role = "data", ptl.path = "x"}) -> (tensor<f32> {ptl.role = "loss"}) {
    %s = ptl.accumulate pieces 1 (%k) -> tensor<f32> attributes {ptl.grad = [""]} {
      // expected-error@+1 {{a value of stage 1 can't be used on stage 0}}
      %y = ptl.elementwise neg %x {ptl.part = 1 : i64} : (!x) -> !x
      %l = ptl.reduce sum %y over [batch, embed] {ptl.part = 4 : i64} : !x -> tensor<f32>
      ptl.yield %l : tensor<f32>
    }
    return %s : tensor<f32>
  }
}

// -----

// Ranks of the pipeline's axis are stages.
module attributes {ptl.stages = 2 : i64, ptl.train = {}, ptl.plan = {mesh = [{name = "pp", size = 2 : i64}], microbatches = 1 : i64,
    pipeline = {axis = "pp", parts = ["a.0", "a.1"], cuts = [], schedule = "gpipe", chunks = 1 : i64, orders = "", line = ""}}} {
  spmd.mesh @mesh [pp = 2]
  func.func @step(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "x"}) -> (tensor<f32> {ptl.role = "loss"}) {
    %s = ptl.accumulate pieces 1 (%k) -> tensor<f32> attributes {ptl.grad = [""]} {
      %l = ptl.reduce sum %x over [batch, embed] {ptl.part = 2 : i64} : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<f32>
      // expected-error@+1 {{can't be done over 'pp': its ranks are stages of the pipeline, which run different programs}}
      %r = spmd.all_reduce sum %l over @mesh [pp] {ptl.part = 2 : i64} : tensor<f32> -> tensor<f32>
      ptl.yield %r : tensor<f32>
    }
    return %s : tensor<f32>
  }
}

// -----

// A number can't be taken apart into what each stage adds to it.
module attributes {ptl.stages = 2 : i64, ptl.train = {}, ptl.plan = {mesh = [{name = "pp", size = 2 : i64}], microbatches = 1 : i64,
    pipeline = {axis = "pp", parts = ["a.0", "a.1"], cuts = [], schedule = "gpipe", chunks = 1 : i64, orders = "", line = ""}}} {
  spmd.mesh @mesh [pp = 2]
  // expected-error@+1 {{the norm of a pipeline must be a 'spmd.root'}}
  func.func @step(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "x"})
      -> (tensor<f32> {ptl.role = "loss"}, tensor<f32> {ptl.role = "grad_norm"}) {
    %s = ptl.accumulate pieces 1 (%k) -> tensor<f32> attributes {ptl.grad = [""]} {
      %l = ptl.reduce sum %x over [batch, embed] {ptl.part = 2 : i64} : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<f32>
      ptl.yield %l : tensor<f32>
    }
    %n = ptl.global_norm %s : (tensor<f32>) -> tensor<f32>
    return %s, %n : tensor<f32>, tensor<f32>
  }
}

// -----

// Evaluation can't read on stage 0 what is on stage 1 in training.
!w = tensor<8xf32, #ptl.dims<[embed]>>
!x = tensor<4x8xf32, #ptl.dims<[batch, embed]>>
module attributes {ptl.stages = 2 : i64, ptl.train = {}, ptl.plan = {mesh = [{name = "pp", size = 2 : i64}], microbatches = 1 : i64,
    pipeline = {axis = "pp", parts = ["a.0", "a.1"], cuts = [], schedule = "gpipe", chunks = 1 : i64, orders = "", line = ""}}} {
  spmd.mesh @mesh [pp = 2]
  func.func @step(%w: !w {ptl.role = "weight", ptl.path = "w"}, %x: !x {ptl.role = "data", ptl.path = "x"})
      -> (tensor<f32> {ptl.role = "loss"}) {
    %s = ptl.accumulate pieces 1 (%k) -> tensor<f32> attributes {ptl.grad = [""]} {
      %y = ptl.elementwise neg %x {ptl.part = 0 : i64} : (!x) -> !x
      %b = ptl.broadcast %w {ptl.part = 1 : i64} : !w -> !x
      %z = ptl.elementwise mul %y, %b {ptl.part = 1 : i64} : (!x, !x) -> !x
      %l = ptl.reduce sum %z over [batch, embed] {ptl.part = 2 : i64} : !x -> tensor<f32>
      ptl.yield %l : tensor<f32>
    }
    return %s : tensor<f32>
  }
  func.func @eval(%w: !w {ptl.role = "weight", ptl.path = "w"}, %x: !x {ptl.role = "data", ptl.path = "x"})
      -> (tensor<f32> {ptl.role = "loss"}) {
    // expected-error@+1 {{'eval' reads the weight 'w' on rank 0 of the pipeline, where training doesn't have it}}
    %b = ptl.broadcast %w {ptl.part = 0 : i64} : !w -> !x
    %z = ptl.elementwise mul %x, %b {ptl.part = 0 : i64} : (!x, !x) -> !x
    %l = ptl.reduce sum %z over [batch, embed] {ptl.part = 2 : i64} : !x -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

// Ranks of the pipeline's axis are stages in evaluation, too.
!x = tensor<4x8xf32, #ptl.dims<[batch, embed]>>
module attributes {ptl.stages = 2 : i64, ptl.train = {}, ptl.plan = {mesh = [{name = "pp", size = 2 : i64}], microbatches = 1 : i64,
    pipeline = {axis = "pp", parts = ["a.0", "a.1"], cuts = [], schedule = "gpipe", chunks = 1 : i64, orders = "", line = ""}}} {
  spmd.mesh @mesh [pp = 2]
  func.func @step(%x: !x {ptl.role = "data", ptl.path = "x"}) -> (tensor<f32> {ptl.role = "loss"}) {
    %s = ptl.accumulate pieces 1 (%k) -> tensor<f32> attributes {ptl.grad = [""]} {
      %l = ptl.reduce sum %x over [batch, embed] {ptl.part = 2 : i64} : !x -> tensor<f32>
      ptl.yield %l : tensor<f32>
    }
    return %s : tensor<f32>
  }
  func.func @eval(%x: !x {ptl.role = "data", ptl.path = "x"}) -> (tensor<f32> {ptl.role = "loss"}) {
    %l = ptl.reduce sum %x over [batch, embed] {ptl.part = 2 : i64} : !x -> tensor<f32>
    // expected-error@+1 {{can't be done over 'pp'}}
    %a = spmd.all_reduce sum %l over @mesh [pp] : tensor<f32> -> tensor<f32>
    return %a : tensor<f32>
  }
}
