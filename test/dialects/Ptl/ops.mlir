// RUN: ptl-opt %s | ptl-opt | FileCheck %s
// RUN: ptl-opt %s --mlir-print-op-generic | ptl-opt | FileCheck %s

// Numbers are written in their shortest form; a name that is no identifier is quoted.
// CHECK-LABEL: func @sources
func.func @sources(%step: tensor<i64>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>> {
  // CHECK: = ptl.constant 0.1
  %a = ptl.constant 0.1 : tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  // CHECK: = ptl.constant -3
  %b = ptl.constant -3 : tensor<4xi32, #ptl.dims<[batch]>>
  // CHECK: = ptl.constant 1.0e-05
  %c = ptl.constant 1.0e-05 : tensor<f32>
  // CHECK: = ptl.constant -inf
  %i = ptl.constant -inf : tensor<f32>
  // CHECK: = ptl.constant 2
  %j = ptl.constant 2 : tensor<3xf32, #ptl.dims<["llama.seq"]>>
  // CHECK: = ptl.iota batch
  %d = ptl.iota batch : tensor<4xi32, #ptl.dims<[batch]>>
  // CHECK: = ptl.random normal place "blocks.0#1" step {{%[^] ,:)]+}}
  %e = ptl.random normal place "blocks.0#1" step %step : tensor<i64> -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return %e : tensor<4x8xf32, #ptl.dims<[batch, embed]>>
}

// Functions take one, two or three operands of the result's dimensions.
// CHECK-LABEL: func @elementwise
func.func @elementwise(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>, %y: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>> {
  // CHECK: = ptl.elementwise add {{%[^] ,:)]+}}, {{%[^] ,:)]+}}
  %a = ptl.elementwise add %x, %y : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  // CHECK: = ptl.elementwise lt {{%[^] ,:)]+}}, {{%[^] ,:)]+}}
  %b = ptl.elementwise lt %a, %y : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> tensor<4x8xi1, #ptl.dims<[batch, embed]>>
  // CHECK: = ptl.elementwise select {{%[^] ,:)]+}}, {{%[^] ,:)]+}}, {{%[^] ,:)]+}}
  %c = ptl.elementwise select %b, %x, %y : (tensor<4x8xi1, #ptl.dims<[batch, embed]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  // CHECK: = ptl.elementwise cast {{%[^] ,:)]+}}
  %d = ptl.elementwise cast %c : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> tensor<4x8xi32, #ptl.dims<[batch, embed]>>
  // CHECK: = ptl.elementwise gelu_grad {{%[^] ,:)]+}}, {{%[^] ,:)]+}}
  %e = ptl.elementwise gelu_grad %c, %x : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  // CHECK: = ptl.stop_gradient {{%[^] ,:)]+}}
  %g = ptl.stop_gradient %e : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return %g : tensor<4x8xf32, #ptl.dims<[batch, embed]>>
}

// Dimensions are added, reordered, split, renamed, joined and cut by name.
// CHECK-LABEL: func @shapes
func.func @shapes(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>> {
  // CHECK: = ptl.broadcast {{%[^] ,:)]+}}
  %a = ptl.broadcast %x : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<8x3x4xf32, #ptl.dims<[embed, seq, batch]>>
  // CHECK: = ptl.reshape {{%[^] ,:)]+}} {{\[\[}}embed] -> [heads, hdim], [batch] -> [key]]
  %b = ptl.reshape %x [[embed] -> [heads, hdim], [batch] -> [key]] : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4x2x4xf32, #ptl.dims<[key, heads, hdim]>>
  // CHECK: = ptl.reshape {{%[^] ,:)]+}} {{\[\[}}heads, hdim] -> [embed]]
  %c = ptl.reshape %b [[heads, hdim] -> [embed]] : tensor<4x2x4xf32, #ptl.dims<[key, heads, hdim]>> -> tensor<4x8xf32, #ptl.dims<[key, embed]>>
  // CHECK: = ptl.concat {{%[^] ,:)]+}}, {{%[^] ,:)]+}} [embed, embed] -> both
  %d = ptl.concat %x, %x [embed, embed] -> both : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> tensor<4x16xf32, #ptl.dims<[batch, both]>>
  // CHECK: = ptl.slice {{%[^] ,:)]+}} both -> part from 3
  %e = ptl.slice %d both -> part from 3 : tensor<4x16xf32, #ptl.dims<[batch, both]>> -> tensor<4x5xf32, #ptl.dims<[batch, part]>>
  // CHECK: = ptl.pad {{%[^] ,:)]+}} part -> embed before 1 value 0.5
  %g = ptl.pad %e part -> embed before 1 value 0.5 : tensor<4x5xf32, #ptl.dims<[batch, part]>> -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return %g : tensor<4x8xf32, #ptl.dims<[batch, embed]>>
}

// Rows are looked up, added where indices say, and sorted.
// CHECK-LABEL: func @indexing
func.func @indexing(%table: tensor<50x8xf32, #ptl.dims<[vocab, embed]>>, %ids: tensor<4x6xi32, #ptl.dims<[batch, seq]>>) -> tensor<50x8xf32, #ptl.dims<[vocab, embed]>> {
  // CHECK: = ptl.gather {{%[^] ,:)]+}}[vocab : {{%[^] ,:)]+}}]
  %a = ptl.gather %table[vocab : %ids] : (tensor<50x8xf32, #ptl.dims<[vocab, embed]>>, tensor<4x6xi32, #ptl.dims<[batch, seq]>>) -> tensor<4x6x8xf32, #ptl.dims<[batch, seq, embed]>>
  // CHECK: = ptl.scatter_add {{%[^] ,:)]+}}, {{%[^] ,:)]+}} over vocab
  %b = ptl.scatter_add %ids, %a over vocab : (tensor<4x6xi32, #ptl.dims<[batch, seq]>>, tensor<4x6x8xf32, #ptl.dims<[batch, seq, embed]>>) -> tensor<50x8xf32, #ptl.dims<[vocab, embed]>>
  // CHECK: = ptl.scatter_add {{%[^] ,:)]+}}, {{%[^] ,:)]+}} over vocab into {{%[^] ,:)]+}}
  %c = ptl.scatter_add %ids, %a over vocab into %b : (tensor<4x6xi32, #ptl.dims<[batch, seq]>>, tensor<4x6x8xf32, #ptl.dims<[batch, seq, embed]>>, tensor<50x8xf32, #ptl.dims<[vocab, embed]>>) -> tensor<50x8xf32, #ptl.dims<[vocab, embed]>>
  // CHECK: = ptl.argmax {{%[^] ,:)]+}} over vocab
  %d = ptl.argmax %c over vocab : tensor<50x8xf32, #ptl.dims<[vocab, embed]>> -> tensor<8xi32, #ptl.dims<[embed]>>
  return %c : tensor<50x8xf32, #ptl.dims<[vocab, embed]>>
}

// CHECK-LABEL: func @top_k
func.func @top_k(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> tensor<4x2xf32, #ptl.dims<[batch, k]>> {
  // CHECK: ptl.top_k {{%.*}} embed -> k : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> (tensor<4x2xf32, #ptl.dims<[batch, k]>>, tensor<4x2xi32, #ptl.dims<[batch, k]>>)
  %v, %i = ptl.top_k %x embed -> k : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> (tensor<4x2xf32, #ptl.dims<[batch, k]>>, tensor<4x2xi32, #ptl.dims<[batch, k]>>)
  return %v : tensor<4x2xf32, #ptl.dims<[batch, k]>>
}

// Contractions sum over names; the result may have any order.
// CHECK-LABEL: func @folds
func.func @folds(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>, %w: tensor<8x2xf32, #ptl.dims<[embed, ffn]>>) -> tensor<f32> {
  // CHECK: = ptl.dot {{%[^] ,:)]+}}, {{%[^] ,:)]+}} over [embed]
  %a = ptl.dot %x, %w over [embed] : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<8x2xf32, #ptl.dims<[embed, ffn]>>) -> tensor<2x4xf32, #ptl.dims<[ffn, batch]>>
  // CHECK: = ptl.reduce max {{%[^] ,:)]+}} over [ffn, batch]
  %b = ptl.reduce max %a over [ffn, batch] : tensor<2x4xf32, #ptl.dims<[ffn, batch]>> -> tensor<f32>
  return %b : tensor<f32>
}

// Operations along one dimension.
// CHECK-LABEL: func @along
func.func @along(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>> {
  // CHECK: = ptl.softmax {{%[^] ,:)]+}} over embed
  %a = ptl.softmax %x over embed : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  // CHECK: = ptl.softmax_grad {{%[^] ,:)]+}}, {{%[^] ,:)]+}} over embed
  %b = ptl.softmax_grad %a, %x over embed : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  // CHECK: = ptl.log_softmax {{%[^] ,:)]+}} over embed
  %c = ptl.log_softmax %x over embed : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  // CHECK: = ptl.log_softmax_grad {{%[^] ,:)]+}}, {{%[^] ,:)]+}} over embed
  %d = ptl.log_softmax_grad %c, %x over embed : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  // CHECK: = ptl.layer_norm {{%[^] ,:)]+}} over embed eps 1.0e-05
  %y:3 = ptl.layer_norm %x over embed eps 1.0e-05 : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4xf32, #ptl.dims<[batch]>>, tensor<4xf32, #ptl.dims<[batch]>>)
  // CHECK: = ptl.layer_norm_grad {{%[^] ,:)]+}}, {{%[^] ,:)]+}}, {{%[^] ,:)]+}}, {{%[^] ,:)]+}} over embed
  %e = ptl.layer_norm_grad %x, %x, %y#1, %y#2 over embed : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4xf32, #ptl.dims<[batch]>>, tensor<4xf32, #ptl.dims<[batch]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  // CHECK: = ptl.rms_norm {{%[^] ,:)]+}} over embed eps 0.001
  %z:2 = ptl.rms_norm %x over embed eps 0.001 : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>) -> (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4xf32, #ptl.dims<[batch]>>)
  // CHECK: = ptl.rms_norm_grad {{%[^] ,:)]+}}, {{%[^] ,:)]+}}, {{%[^] ,:)]+}} over embed
  %g = ptl.rms_norm_grad %x, %x, %z#1 over embed : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4xf32, #ptl.dims<[batch]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  // CHECK: = ptl.rope {{%[^] ,:)]+}} over embed along batch theta 10000 inverse
  %h = ptl.rope %x over embed along batch theta 10000 inverse : tensor<4x8xf32, #ptl.dims<[batch, embed]>> -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return %h : tensor<4x8xf32, #ptl.dims<[batch, embed]>>
}

// One loss per target, and the log-sum-exp for the gradient.
// CHECK-LABEL: func @cross_entropy
func.func @cross_entropy(%x: tensor<4x8xf32, #ptl.dims<[batch, embed]>>, %t: tensor<4xi32, #ptl.dims<[batch]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>> {
  // CHECK: = ptl.cross_entropy {{%[^] ,:)]+}}, {{%[^] ,:)]+}} over embed ignore -1
  %l:2 = ptl.cross_entropy %x, %t over embed ignore -1 : (tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4xi32, #ptl.dims<[batch]>>) -> (tensor<4xf32, #ptl.dims<[batch]>>, tensor<4xf32, #ptl.dims<[batch]>>)
  // CHECK: = ptl.cross_entropy_grad {{%[^] ,:)]+}}, {{%[^] ,:)]+}}, {{%[^] ,:)]+}}, {{%[^] ,:)]+}} over embed ignore -1
  %g = ptl.cross_entropy_grad %l#0, %x, %t, %l#1 over embed ignore -1 : (tensor<4xf32, #ptl.dims<[batch]>>, tensor<4x8xf32, #ptl.dims<[batch, embed]>>, tensor<4xi32, #ptl.dims<[batch]>>, tensor<4xf32, #ptl.dims<[batch]>>) -> tensor<4x8xf32, #ptl.dims<[batch, embed]>>
  return %g : tensor<4x8xf32, #ptl.dims<[batch, embed]>>
}

// Self-attention with shared key heads, a mask and a window.
// CHECK-LABEL: func @attention
func.func @attention(%q: tensor<4x6x2x8xf32, #ptl.dims<[batch, seq, heads, hdim]>>, %k: tensor<4x6x1x8xf32, #ptl.dims<[batch, seq, kv, hdim]>>, %m: tensor<6x6xi1, #ptl.dims<[seq, "seq.query"]>>) -> tensor<4x6x2x8xf32, #ptl.dims<[batch, seq, heads, hdim]>> {
  // CHECK: = ptl.attention {{%[^] ,:)]+}}, {{%[^] ,:)]+}}, {{%[^] ,:)]+}} mask {{%[^] ,:)]+}} over seq depth hdim -> hdim scale 0.25 group [heads] -> [kv] causal window 3
  %y:2 = ptl.attention %q, %k, %k mask %m over seq depth hdim -> hdim scale 0.25 group [heads] -> [kv] causal window 3 : (tensor<4x6x2x8xf32, #ptl.dims<[batch, seq, heads, hdim]>>, tensor<4x6x1x8xf32, #ptl.dims<[batch, seq, kv, hdim]>>, tensor<4x6x1x8xf32, #ptl.dims<[batch, seq, kv, hdim]>>, tensor<6x6xi1, #ptl.dims<[seq, "seq.query"]>>) -> (tensor<4x6x2x8xf32, #ptl.dims<[batch, seq, heads, hdim]>>, tensor<4x6x2xf32, #ptl.dims<[batch, seq, heads]>>)
  // CHECK: = ptl.attention_grad {{%[^] ,:)]+}}, {{%[^] ,:)]+}}, {{%[^] ,:)]+}}, {{%[^] ,:)]+}}, {{%[^] ,:)]+}}, {{%[^] ,:)]+}} mask {{%[^] ,:)]+}} over seq depth hdim -> hdim scale 0.25 group [heads] -> [kv] causal window 3
  %g:3 = ptl.attention_grad %q, %q, %k, %k, %y#0, %y#1 mask %m over seq depth hdim -> hdim scale 0.25 group [heads] -> [kv] causal window 3 : (tensor<4x6x2x8xf32, #ptl.dims<[batch, seq, heads, hdim]>>, tensor<4x6x2x8xf32, #ptl.dims<[batch, seq, heads, hdim]>>, tensor<4x6x1x8xf32, #ptl.dims<[batch, seq, kv, hdim]>>, tensor<4x6x1x8xf32, #ptl.dims<[batch, seq, kv, hdim]>>, tensor<4x6x2x8xf32, #ptl.dims<[batch, seq, heads, hdim]>>, tensor<4x6x2xf32, #ptl.dims<[batch, seq, heads]>>, tensor<6x6xi1, #ptl.dims<[seq, "seq.query"]>>) -> (tensor<4x6x2x8xf32, #ptl.dims<[batch, seq, heads, hdim]>>, tensor<4x6x1x8xf32, #ptl.dims<[batch, seq, kv, hdim]>>, tensor<4x6x1x8xf32, #ptl.dims<[batch, seq, kv, hdim]>>)
  return %g#0 : tensor<4x6x2x8xf32, #ptl.dims<[batch, seq, heads, hdim]>>
}

// The body sees outer values and the index of the piece.
// CHECK-LABEL: func @accumulate
func.func @accumulate(%x: tensor<5x8xf32, #ptl.dims<[batch, embed]>>) -> tensor<8xf32, #ptl.dims<[embed]>> {
  // CHECK: ptl.accumulate pieces 2 (%[[K:.*]]) -> tensor<f32>, tensor<8xf32, #ptl.dims<[embed]>> {
  %s:2 = ptl.accumulate pieces 2 (%k) -> tensor<f32>, tensor<8xf32, #ptl.dims<[embed]>> {
    // CHECK: ptl.microbatch %{{.*}}[%[[K]]] of 2 along batch : tensor<5x8xf32, #ptl.dims<[batch, embed]>> -> tensor<3x8xf32, #ptl.dims<[batch, embed]>>
    %p = ptl.microbatch %x[%k] of 2 along batch : tensor<5x8xf32, #ptl.dims<[batch, embed]>> -> tensor<3x8xf32, #ptl.dims<[batch, embed]>>
    %a = ptl.reduce sum %p over [batch] : tensor<3x8xf32, #ptl.dims<[batch, embed]>> -> tensor<8xf32, #ptl.dims<[embed]>>
    %b = ptl.reduce sum %a over [embed] : tensor<8xf32, #ptl.dims<[embed]>> -> tensor<f32>
    // CHECK: ptl.yield
    ptl.yield %b, %a : tensor<f32>, tensor<8xf32, #ptl.dims<[embed]>>
  }
  return %s#1 : tensor<8xf32, #ptl.dims<[embed]>>
}

// States stand kind by kind; sgd without momentum has none.
// CHECK-LABEL: func @optimize
func.func @optimize(%w: tensor<8xf32, #ptl.dims<[embed]>>, %g: tensor<8xf32, #ptl.dims<[embed]>>, %m: tensor<8xf32, #ptl.dims<[embed]>>, %v: tensor<8xf32, #ptl.dims<[embed]>>, %h: tensor<f32>, %step: tensor<i64>) -> tensor<8xf32, #ptl.dims<[embed]>> {
  // CHECK: = ptl.global_norm {{%[^] ,:)]+}}, {{%[^] ,:)]+}}
  %n = ptl.global_norm %g, %g : (tensor<8xf32, #ptl.dims<[embed]>>, tensor<8xf32, #ptl.dims<[embed]>>) -> tensor<f32>
  // CHECK: = ptl.optimize adamw weights
  %a:3 = ptl.optimize adamw weights(%w : tensor<8xf32, #ptl.dims<[embed]>>) grads(%g : tensor<8xf32, #ptl.dims<[embed]>>) states(%m, %v : tensor<8xf32, #ptl.dims<[embed]>>, tensor<8xf32, #ptl.dims<[embed]>>) hypers(%h, %h, %h, %h, %h, %n : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) step %step : tensor<i64> names ["w"] -> (tensor<8xf32, #ptl.dims<[embed]>>) states(tensor<8xf32, #ptl.dims<[embed]>>, tensor<8xf32, #ptl.dims<[embed]>>)
  // CHECK: = ptl.optimize sgd weights
  %b = ptl.optimize sgd weights(%a#0 : tensor<8xf32, #ptl.dims<[embed]>>) grads(%g : tensor<8xf32, #ptl.dims<[embed]>>) hypers(%h, %h, %h, %h, %n : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) step %step : tensor<i64> names ["w"] nesterov -> (tensor<8xf32, #ptl.dims<[embed]>>)
  return %b : tensor<8xf32, #ptl.dims<[embed]>>
}
