// RUN: ptl-native %s --tolerance 1e-5 | FileCheck %s
// RUN: ptl-native %s --tolerance 1e-5 --passes=fuse-expand-rows,cse,fuse-rows,fuse-outline-single,memory-plan-buffers | FileCheck %s
// CHECK: 9 of 9 results agree

#q = #ptl.dims<[batch, seq, heads, hdim]>
#kv = #ptl.dims<[batch, seq, kv_heads, hdim]>
#l = #ptl.dims<[batch, seq, heads]>
#c = #ptl.dims<[batch, key, heads, hdim]>

func.func @logits(%q: tensor<2x9x4x16xf32, #q>, %k: tensor<2x9x2x16xf32, #kv>, %v: tensor<2x9x2x16xf32, #kv>, %dy: tensor<2x9x4x16xf32, #q>,
                  %ck: tensor<2x7x4x16xf32, #c>, %cv: tensor<2x7x4x16xf32, #c>)
    -> (tensor<2x9x4x16xf32, #q>, tensor<2x9x4xf32, #l>, tensor<2x9x4x16xf32, #q>, tensor<2x9x2x16xf32, #kv>, tensor<2x9x2x16xf32, #kv>, tensor<2x9x4x16xf32, #q>,
        tensor<2x9x4x16xf32, #q>, tensor<2x7x4x16xf32, #c>, tensor<2x7x4x16xf32, #c>) {
  // Grouped heads, causal.
  %y, %lse = ptl.attention %q, %k, %v over seq depth hdim -> hdim scale 0.25 group [heads] -> [kv_heads] causal
    : (tensor<2x9x4x16xf32, #q>, tensor<2x9x2x16xf32, #kv>, tensor<2x9x2x16xf32, #kv>) -> (tensor<2x9x4x16xf32, #q>, tensor<2x9x4xf32, #l>)
  %dq, %dk, %dv = ptl.attention_grad %dy, %q, %k, %v, %y, %lse over seq depth hdim -> hdim scale 0.25 group [heads] -> [kv_heads] causal
    : (tensor<2x9x4x16xf32, #q>, tensor<2x9x4x16xf32, #q>, tensor<2x9x2x16xf32, #kv>, tensor<2x9x2x16xf32, #kv>, tensor<2x9x4x16xf32, #q>, tensor<2x9x4xf32, #l>)
    -> (tensor<2x9x4x16xf32, #q>, tensor<2x9x2x16xf32, #kv>, tensor<2x9x2x16xf32, #kv>)
  // Keys of another sequence.
  %cy, %clse = ptl.attention %q, %ck, %cv over key depth hdim -> hdim scale 0.25
    : (tensor<2x9x4x16xf32, #q>, tensor<2x7x4x16xf32, #c>, tensor<2x7x4x16xf32, #c>) -> (tensor<2x9x4x16xf32, #q>, tensor<2x9x4xf32, #l>)
  %cq, %cdk, %cdv = ptl.attention_grad %dy, %q, %ck, %cv, %cy, %clse over key depth hdim -> hdim scale 0.25
    : (tensor<2x9x4x16xf32, #q>, tensor<2x9x4x16xf32, #q>, tensor<2x7x4x16xf32, #c>, tensor<2x7x4x16xf32, #c>, tensor<2x9x4x16xf32, #q>, tensor<2x9x4xf32, #l>)
    -> (tensor<2x9x4x16xf32, #q>, tensor<2x7x4x16xf32, #c>, tensor<2x7x4x16xf32, #c>)
  return %y, %lse, %dq, %dk, %dv, %cy, %cq, %cdk, %cdv : tensor<2x9x4x16xf32, #q>, tensor<2x9x4xf32, #l>, tensor<2x9x4x16xf32, #q>, tensor<2x9x2x16xf32, #kv>, tensor<2x9x2x16xf32, #kv>, tensor<2x9x4x16xf32, #q>,
        tensor<2x9x4x16xf32, #q>, tensor<2x7x4x16xf32, #c>, tensor<2x7x4x16xf32, #c>
}
