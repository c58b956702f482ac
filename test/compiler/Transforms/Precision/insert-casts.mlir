// RUN: ptl-opt %s --precision-insert-casts --split-input-file | FileCheck %s

// The master stays f32; its copy, operands and results of products are bf16. What only one element-wise operation reads
// isn't rounded; what two read is, and both read the rounded value. The function's type doesn't change.
// CHECK-LABEL: @step
// CHECK: %[[COPY:.*]] = ptl.elementwise cast %arg0 : {{.*}} -> tensor<8x2xbf16,
// CHECK: %[[X:.*]] = ptl.elementwise cast %arg1 : {{.*}} -> tensor<4x8xbf16,
// CHECK: %[[Y:.*]] = ptl.dot %[[X]], %[[COPY]] over [embed] : {{.*}} -> tensor<4x2xbf16,
// CHECK: %[[WIDE:.*]] = ptl.elementwise cast %[[Y]] : {{.*}} -> tensor<4x2xf32,
// CHECK: %[[ONCE:.*]] = ptl.elementwise relu %[[WIDE]] : (tensor<4x2xf32,
// CHECK-NEXT: %[[TWICE:.*]] = ptl.elementwise exp %[[ONCE]] : (tensor<4x2xf32,
// CHECK-NEXT: %[[ROUNDED:.*]] = ptl.elementwise cast %[[TWICE]] : {{.*}} -> tensor<4x2xbf16,
// CHECK: %[[A:.*]] = ptl.elementwise cast %[[ROUNDED]]
// CHECK: %[[B:.*]] = ptl.elementwise cast %[[ROUNDED]]
// CHECK: %[[SQUARE:.*]] = ptl.elementwise mul %[[A]], %[[B]] : (tensor<4x2xf32,
// CHECK-NEXT: ptl.reduce sum %[[SQUARE]] {{.*}} : tensor<4x2xf32, {{.*}} -> tensor<f32>
// CHECK: return {{.*}} : tensor<f32>
module attributes {ptl.plan = {precision = [{type = "bf16"}]}} {
  func.func @step(%w: tensor<8x2xf32, #ptl.dims<[embed, out]>> {ptl.role = "weight", ptl.path = "w"},
                  %x: tensor<4x8xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "x"}) -> tensor<f32> {
    %y = ptl.dot %x, %w over [embed] : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<8x2xf32, #ptl.dims<[embed, out]>>) -> tensor<4x2xf32, #ptl.dims<[batch, out]>>
    %once = ptl.elementwise relu %y : (tensor<4x2xf32, #ptl.dims<[batch, out]>>) -> tensor<4x2xf32, #ptl.dims<[batch, out]>>
    %twice = ptl.elementwise exp %once : (tensor<4x2xf32, #ptl.dims<[batch, out]>>) -> tensor<4x2xf32, #ptl.dims<[batch, out]>>
    %square = ptl.elementwise mul %twice, %twice : (tensor<4x2xf32, #ptl.dims<[batch, out]>>, tensor<4x2xf32, #ptl.dims<[batch, out]>>) -> tensor<4x2xf32, #ptl.dims<[batch, out]>>
    %sum = ptl.reduce sum %square over [batch, out] : tensor<4x2xf32, #ptl.dims<[batch, out]>> -> tensor<f32>
    return %sum : tensor<f32>
  }
}

// -----

// One micro-batch: a gradient is bf16. A product that is the whole gradient is rounded as it is stored; what a scatter adds
// to stays f32 until all is added.
// CHECK-LABEL: @step
// CHECK: ptl.accumulate pieces 1 {{.*}} -> tensor<f32>, tensor<5x8xbf16, {{.*}}>, tensor<8x8xbf16,
// CHECK: %[[WHOLE:.*]] = ptl.dot {{.*}} -> tensor<8x8xbf16,
// CHECK: %[[PART:.*]] = ptl.dot {{.*}} -> tensor<5x8xf32,
// CHECK: %[[ALL:.*]] = ptl.scatter_add %arg2, {{.*}} into %[[PART]] : {{.*}} -> tensor<5x8xf32,
// CHECK: %[[GRADIENT:.*]] = ptl.elementwise cast %[[ALL]] : {{.*}} -> tensor<5x8xbf16,
// CHECK: ptl.yield {{.*}}, %[[GRADIENT]], %[[WHOLE]] : tensor<f32>,
module attributes {ptl.plan = {precision = [{type = "bf16"}]}} {
  func.func @step(%table: tensor<5x8xf32, #ptl.dims<[vocab, embed]>> {ptl.role = "weight", ptl.path = "table"},
                  %w: tensor<8x8xf32, #ptl.dims<[embed, out]>> {ptl.role = "weight", ptl.path = "w"},
                  %ids: tensor<4xi32, #ptl.dims<[batch]>> {ptl.role = "data", ptl.path = "ids"}) -> tensor<f32> {
    %zero = ptl.constant 0 : tensor<f32>
    %r:3 = ptl.accumulate pieces 1 (%k) -> tensor<f32>, tensor<5x8xf32, #ptl.dims<[vocab, embed]>>, tensor<8x8xf32, #ptl.dims<[embed, out]>> attributes {ptl.grad = ["", "table", "w"]} {
      %x = ptl.gather %table[vocab : %ids] : (tensor<5x8xf32, #ptl.dims<[vocab, embed]>>, tensor<4xi32, #ptl.dims<[batch]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
      %y = ptl.dot %x, %w over [embed] : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<8x8xf32, #ptl.dims<[embed, out]>>) -> tensor<4x8xf32, #ptl.dims<[batch, out]>>
      %dw = ptl.dot %x, %y over [batch] : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4x8xf32, #ptl.dims<[batch, out]>>) -> tensor<8x8xf32, #ptl.dims<[embed, out]>>
      %z = ptl.dot %x, %table over [embed] : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<5x8xf32, #ptl.dims<[vocab, embed]>>) -> tensor<4x5xf32, #ptl.dims<[batch, vocab]>>
      %part = ptl.dot %z, %x over [batch] : (tensor<4x5xf32, #ptl.dims<[batch, vocab]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> tensor<5x8xf32, #ptl.dims<[vocab, embed]>>
      %all = ptl.scatter_add %ids, %x over vocab into %part : (tensor<4xi32, #ptl.dims<[batch]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<5x8xf32, #ptl.dims<[vocab, embed]>>) -> tensor<5x8xf32, #ptl.dims<[vocab, embed]>>
      ptl.yield %zero, %all, %dw : tensor<f32>, tensor<5x8xf32, #ptl.dims<[vocab, embed]>>, tensor<8x8xf32, #ptl.dims<[embed, out]>>
    }
    return %r#0 : tensor<f32>
  }
}

// -----

// Several micro-batches: sums, and the products that go into them, are f32. A part and a weight may be left out: their
// operations are f32 as they were, and what they read is widened.
// CHECK-LABEL: @step
// CHECK-NOT: ptl.elementwise cast %arg1
// CHECK: ptl.accumulate pieces 2 {{.*}} -> tensor<f32>, tensor<8x8xf32, {{.*}}>, tensor<8x8xf32,
// CHECK: %[[Y:.*]] = ptl.dot {{.*}} -> tensor<4x8xbf16,
// CHECK: ptl.dot {{.*}} over [batch] : (tensor<4x8xbf16, {{.*}} -> tensor<8x8xf32,
// CHECK: %[[H:.*]] = ptl.reshape %[[Y]] {{.*}} -> tensor<4x8xbf16,
// CHECK: %[[WIDE:.*]] = ptl.elementwise cast %[[H]] : {{.*}} -> tensor<4x8xf32,
// CHECK: ptl.dot %[[WIDE]], %arg1 over [embed] : (tensor<4x8xf32, {{.*}} -> tensor<4x8xf32,
module attributes {ptl.plan = {precision = [{type = "f32", strength = 1 : i64, parts = ["b"], weights = ["b.v"]}, {type = "bf16"}]}} {
  func.func @step(%w: tensor<8x8xf32, #ptl.dims<[embed, out]>> {ptl.role = "weight", ptl.path = "w"},
                  %v: tensor<8x8xf32, #ptl.dims<[embed, out]>> {ptl.role = "weight", ptl.path = "b.v"},
                  %x: tensor<8x8xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "x"}) -> tensor<f32> {
    %r:3 = ptl.accumulate pieces 2 (%k) -> tensor<f32>, tensor<8x8xf32, #ptl.dims<[embed, out]>>, tensor<8x8xf32, #ptl.dims<[embed, out]>> attributes {ptl.grad = ["", "w", "b.v"]} {
      %m = ptl.microbatch %x[%k] of 2 along batch : tensor<8x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
      %y = ptl.dot %m, %w over [embed] : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<8x8xf32, #ptl.dims<[embed, out]>>) -> tensor<4x8xf32, #ptl.dims<[batch, out]>>
      %dw = ptl.dot %m, %y over [batch] : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4x8xf32, #ptl.dims<[batch, out]>>) -> tensor<8x8xf32, #ptl.dims<[embed, out]>>
      %h = ptl.reshape %y [[out] -> [embed]] : tensor<4x8xf32, #ptl.dims<[batch, out]>> -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
      %z = ptl.dot %h, %v over [embed] : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<8x8xf32, #ptl.dims<[embed, out]>>) -> tensor<4x8xf32, #ptl.dims<[batch, out]>> loc("b")
      %dv = ptl.dot %h, %z over [batch] : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4x8xf32, #ptl.dims<[batch, out]>>) -> tensor<8x8xf32, #ptl.dims<[embed, out]>> loc("b")
      %s = ptl.reduce sum %z over [batch, out] : tensor<4x8xf32, #ptl.dims<[batch, out]>> -> tensor<f32> loc("b")
      ptl.yield %s, %dw, %dv : tensor<f32>, tensor<8x8xf32, #ptl.dims<[embed, out]>>, tensor<8x8xf32, #ptl.dims<[embed, out]>>
    }
    return %r#0 : tensor<f32>
  }
}

// -----

// Norms and losses compute in f32; their statistics and the loss stay f32, a norm's result is rounded.
// CHECK-LABEL: @step
// CHECK: %y, %mean, %rstd = ptl.layer_norm {{.*}} : (tensor<4x8xf32, {{.*}}) -> (tensor<4x8xf32, {{.*}}>, tensor<4xf32, {{.*}}>, tensor<4xf32,
// CHECK: ptl.elementwise cast %y : {{.*}} -> tensor<4x8xbf16,
// CHECK: %[[LOGITS:.*]] = ptl.dot {{.*}} -> tensor<4x8xbf16,
// CHECK: ptl.cross_entropy {{.*}} : (tensor<4x8xf32, {{.*}} -> (tensor<4xf32, {{.*}}>, tensor<4xf32,
// CHECK-NEXT: ptl.reduce sum {{.*}} : tensor<4xf32,
module attributes {ptl.plan = {precision = [{type = "bf16"}]}} {
  func.func @step(%w: tensor<8x8xf32, #ptl.dims<[embed, out]>> {ptl.role = "weight", ptl.path = "w"},
                  %b: tensor<4x8xf32, #ptl.dims<[batch, embed]>> {ptl.role = "weight", ptl.path = "b"},
                  %t: tensor<4xi32, #ptl.dims<[batch]>> {ptl.role = "data", ptl.path = "t"}) -> tensor<f32> {
    %y, %mean, %rstd = ptl.layer_norm %b over embed eps 1.0e-05 : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4xf32, #ptl.dims<[batch]>>, tensor<4xf32, #ptl.dims<[batch]>>)
    %z = ptl.dot %y, %w over [embed] : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<8x8xf32, #ptl.dims<[embed, out]>>) -> tensor<4x8xf32, #ptl.dims<[batch, out]>>
    %loss, %lse = ptl.cross_entropy %z, %t over out : (tensor<4x8xf32, #ptl.dims<[batch, out]>>, tensor<4xi32, #ptl.dims<[batch]>>) -> (tensor<4xf32, #ptl.dims<[batch]>>, tensor<4xf32, #ptl.dims<[batch]>>)
    %sum = ptl.reduce sum %loss over [batch] : tensor<4xf32, #ptl.dims<[batch]>> -> tensor<f32>
    return %sum : tensor<f32>
  }
}

// -----

// Elsewhere weights are cast where they are used, and results have the type that they had.
// CHECK-LABEL: @logits
// CHECK-NEXT: ptl.elementwise cast %arg0
// CHECK-NEXT: ptl.elementwise cast %arg1
// CHECK-NEXT: %[[Y:.*]] = ptl.dot {{.*}} -> tensor<4x2xbf16,
// CHECK-NEXT: %[[WIDE:.*]] = ptl.elementwise cast %[[Y]] : {{.*}} -> tensor<4x2xf32,
// CHECK-NEXT: return %[[WIDE]]
module attributes {ptl.plan = {precision = [{type = "bf16"}]}} {
  func.func @logits(%w: tensor<8x2xf32, #ptl.dims<[embed, out]>> {ptl.role = "weight", ptl.path = "w"},
                    %x: tensor<4x8xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "x"}) -> tensor<4x2xf32, #ptl.dims<[batch, out]>> {
    %y = ptl.dot %x, %w over [embed] : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<8x2xf32, #ptl.dims<[embed, out]>>) -> tensor<4x2xf32, #ptl.dims<[batch, out]>>
    return %y : tensor<4x2xf32, #ptl.dims<[batch, out]>>
  }
}

// -----

// Between stages bf16 travels: what widens a value is in the part of its reader, what rounds one in that of its maker.
// CHECK-LABEL: @step
// CHECK: %[[A:.*]] = ptl.dot {{.*}}ptl.part = 0
// CHECK: %[[WIDE:.*]] = ptl.elementwise cast %[[A]] {ptl.part = 1 : i64} : {{.*}} -> tensor<4x2xf32,
// CHECK: %[[EXP:.*]] = ptl.elementwise exp %[[WIDE]] {ptl.part = 1 : i64}
// CHECK: %[[NARROW:.*]] = ptl.elementwise cast %[[EXP]] {ptl.part = 1 : i64} : {{.*}} -> tensor<4x2xbf16,
module attributes {ptl.plan = {precision = [{type = "bf16"}]}} {
  func.func @step(%w: tensor<8x2xf32, #ptl.dims<[embed, out]>> {ptl.role = "weight", ptl.path = "w"},
                  %x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>, %v: tensor<2x8xf32, #ptl.dims<[out, embed]>> {ptl.role = "weight", ptl.path = "v"})
      -> (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>) {
    %y = ptl.dot %x, %w over [embed] {ptl.part = 0 : i64} : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<8x2xf32, #ptl.dims<[embed, out]>>) -> tensor<4x2xf32, #ptl.dims<[batch, out]>>
    %e = ptl.elementwise exp %y {ptl.part = 1 : i64} : (tensor<4x2xf32, #ptl.dims<[batch, out]>>) -> tensor<4x2xf32, #ptl.dims<[batch, out]>>
    %a = ptl.dot %e, %v over [out] {ptl.part = 1 : i64} : (tensor<4x2xf32, #ptl.dims<[batch, out]>>, tensor<2x8xf32, #ptl.dims<[out, embed]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
    %b = ptl.dot %y, %v over [out] {ptl.part = 1 : i64} : (tensor<4x2xf32, #ptl.dims<[batch, out]>>, tensor<2x8xf32, #ptl.dims<[out, embed]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
    return %a, %b : tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  }
}

// -----

// Without a rule nothing changes.
// CHECK-LABEL: @step
// CHECK-NOT: bf16
module attributes {ptl.plan = {}} {
  func.func @step(%w: tensor<8x2xf32, #ptl.dims<[embed, out]>> {ptl.role = "weight", ptl.path = "w"},
                  %x: tensor<4x8xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "x"}) -> tensor<4x2xf32, #ptl.dims<[batch, out]>> {
    %y = ptl.dot %x, %w over [embed] : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<8x2xf32, #ptl.dims<[embed, out]>>) -> tensor<4x2xf32, #ptl.dims<[batch, out]>>
    return %y : tensor<4x2xf32, #ptl.dims<[batch, out]>>
  }
}
