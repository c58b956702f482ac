// RUN: ptl-opt %s --split-input-file --verify-diagnostics --stage-assign-stages --mlir-print-local-scope | FileCheck %s

!x = tensor<4x8xf32, #ptl.dims<[batch, embed]>>
!w = tensor<8xf32, #ptl.dims<[embed]>>

// Four layers on two stages. %e reads data alone and goes to its first user; %late stands behind the first stage's
// operations but belongs to it; %out depends on the last layer and is outside of it: the loss.
module attributes {ptl.plan = {mesh = [{name = "pp", size = 2 : i64}], microbatches = 2 : i64,
    pipeline = {axis = "pp", parts = ["blocks.0", "blocks.1", "blocks.2", "blocks.3"], cuts = [], schedule = "one_f_one_b", chunks = 1 : i64,
                orders = "", line = "m.ptl:9:3"}}} {
  // CHECK: ptl.stages = 2
  // CHECK-LABEL: func.func @loss
  func.func @loss(%tokens: !x) -> tensor<f32> {
    // CHECK: exp {{.*}}ptl.part = 0
    // CHECK-NEXT: neg {{.*}}ptl.part = 0
    // CHECK-NEXT: neg {{.*}}ptl.part = 0
    // CHECK-NEXT: abs {{.*}}ptl.part = 0
    // CHECK-NEXT: neg {{.*}}ptl.part = 1
    // CHECK-NEXT: neg {{.*}}ptl.part = 1
    // CHECK-NEXT: add {{.*}}ptl.part = 2
    // CHECK-NEXT: ptl.reduce {{.*}}ptl.part = 2
    %e = ptl.elementwise exp %tokens : (!x) -> !x loc("m.ptl":1:1)
    %0 = ptl.elementwise neg %e : (!x) -> !x loc("blocks.0"("m.ptl":2:1))
    %1 = ptl.elementwise neg %0 : (!x) -> !x loc("blocks.1.mlp"("m.ptl":2:1))
    %2 = ptl.elementwise neg %1 : (!x) -> !x loc("blocks.2"("m.ptl":2:1))
    %3 = ptl.elementwise neg %2 : (!x) -> !x loc("blocks.3"("m.ptl":2:1))
    %late = ptl.elementwise abs %1 : (!x) -> !x loc("m.ptl":3:1)
    %out = ptl.elementwise add %3, %late : (!x, !x) -> !x loc("m.ptl":4:1)
    %l = ptl.reduce sum %out over [batch, embed] : !x -> tensor<f32> loc("m.ptl":5:1)
    return %l : tensor<f32>
  }
  // Evaluation is cut at the same layers, whatever it skips.
  // CHECK-LABEL: func.func @eval
  func.func @eval(%tokens: !x) -> tensor<f32> {
    // CHECK: neg {{.*}}ptl.part = 0
    // CHECK-NEXT: neg {{.*}}ptl.part = 1
    // CHECK-NEXT: ptl.reduce {{.*}}ptl.part = 2
    %1 = ptl.elementwise neg %tokens : (!x) -> !x loc("blocks.1"("m.ptl":2:1))
    %3 = ptl.elementwise neg %1 : (!x) -> !x loc("blocks.3"("m.ptl":2:1))
    %l = ptl.reduce sum %3 over [batch, embed] : !x -> tensor<f32> loc("m.ptl":5:1)
    return %l : tensor<f32>
  }
}

// -----

// The first of two stages has one layer of three.
!x = tensor<4x8xf32, #ptl.dims<[batch, embed]>>
module attributes {ptl.plan = {mesh = [{name = "pp", size = 2 : i64}], microbatches = 1 : i64,
    pipeline = {axis = "pp", parts = ["blocks.0", "blocks.1", "blocks.2"], cuts = ["blocks.1"], schedule = "gpipe", chunks = 1 : i64,
                orders = "", line = "m.ptl:9:3"}}} {
  // CHECK-LABEL: func.func @loss
  func.func @loss(%x: !x) -> !x {
    // CHECK: neg {{.*}}ptl.part = 0
    // CHECK-NEXT: abs {{.*}}ptl.part = 1
    // CHECK-NEXT: exp {{.*}}ptl.part = 1
    %0 = ptl.elementwise neg %x : (!x) -> !x loc("blocks.0"("m.ptl":2:1))
    %1 = ptl.elementwise abs %0 : (!x) -> !x loc("blocks.1"("m.ptl":2:1))
    %3 = ptl.elementwise exp %1 : (!x) -> !x loc("blocks.2"("m.ptl":2:1))
    return %3 : !x
  }
}

// -----

module attributes {ptl.plan = {mesh = [{name = "pp", size = 4 : i64}], microbatches = 1 : i64,
    pipeline = {axis = "pp", parts = ["blocks.0", "blocks.1"], cuts = [], schedule = "gpipe", chunks = 1 : i64, orders = "", line = ""}}} {
  // expected-error@unknown {{4 stages need as many layers, there are 2}}
  func.func @loss(%x: tensor<f32>) -> tensor<f32> {
    return %x : tensor<f32>
  }
}

// -----

module attributes {ptl.plan = {mesh = [{name = "pp", size = 2 : i64}], microbatches = 1 : i64,
    pipeline = {axis = "pp", parts = ["blocks.0", "blocks.1"], cuts = ["blocks.0"], schedule = "gpipe", chunks = 1 : i64, orders = "", line = ""}}} {
  // expected-error@unknown {{cut 'blocks.0' leaves a stage empty or isn't behind the one before}}
  func.func @loss(%x: tensor<f32>) -> tensor<f32> {
    return %x : tensor<f32>
  }
}

// -----

module attributes {ptl.plan = {mesh = [{name = "pp", size = 2 : i64}], microbatches = 1 : i64,
    pipeline = {axis = "pp", parts = ["blocks.0", "blocks.1"], cuts = ["blocks.0", "blocks.1"], schedule = "gpipe", chunks = 1 : i64, orders = "", line = ""}}} {
  // expected-error@unknown {{2 stages need 1 cuts, there are 2}}
  func.func @loss(%x: tensor<f32>) -> tensor<f32> {
    return %x : tensor<f32>
  }
}

// -----

module attributes {ptl.plan = {mesh = [{name = "pp", size = 2 : i64}], microbatches = 1 : i64,
    pipeline = {axis = "pp", parts = ["blocks.0", "blocks.1"], cuts = [], schedule = "gpipe", chunks = 9 : i64, orders = "", line = ""}}} {
  // expected-error@unknown {{a rank has at most 8 stages, not 9}}
  func.func @loss(%x: tensor<f32>) -> tensor<f32> {
    return %x : tensor<f32>
  }
}

// -----

module attributes {ptl.plan = {mesh = [{name = "pp", size = 2 : i64}], microbatches = 1 : i64,
    pipeline = {axis = "pp", parts = ["blocks.0", "blocks.1"], cuts = [], schedule = "file", chunks = 1 : i64, orders = "", line = ""}}} {
  // expected-error@unknown {{can't make the schedule: line 1: expected a header 'ptl-schedule,1,compute,...'}}
  func.func @loss(%x: tensor<f32>) -> tensor<f32> {
    return %x : tensor<f32>
  }
}

// -----

module attributes {ptl.plan = {mesh = [{name = "pp", size = 2 : i64}], microbatches = 1 : i64,
    pipeline = {axis = "pp", parts = ["blocks.0", "blocks.1"], cuts = [], schedule = "zigzag", chunks = 1 : i64, orders = "", line = ""}}} {
  // expected-error@unknown {{there is no schedule 'zigzag'}}
  func.func @loss(%x: tensor<f32>) -> tensor<f32> {
    return %x : tensor<f32>
  }
}
