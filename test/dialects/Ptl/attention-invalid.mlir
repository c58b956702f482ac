// RUN: ptl-opt %s --split-input-file --verify-diagnostics

// One case per constraint: @op_cN breaks (CN).

func.func @attention_c1(%q: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, %k: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, %v: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>) {
  // expected-error @below {{key [seq, heads, hdim] has no dimension 'key'}}
  %y:2 = ptl.attention %q, %k, %v  over key depth hdim -> hdim scale 1  : (tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>) -> (tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4xf32, #ptl.dims<[seq, heads]>>)
  return
}

// -----

func.func @attention_c1_depth(%q: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, %k: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, %v: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>) {
  // expected-error @below {{query [seq, heads, hdim] has no dimension 'd'}}
  %y:2 = ptl.attention %q, %k, %v  over seq depth d -> hdim scale 1  : (tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>) -> (tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4xf32, #ptl.dims<[seq, heads]>>)
  return
}

// -----

func.func @attention_c2(%q: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, %k: tensor<6x2x8xf32, #ptl.dims<[seq, kv, hdim]>>, %v: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>) {
  // expected-error @below {{the keys have 'kv', which the queries lack}}
  %y:2 = ptl.attention %q, %k, %v  over seq depth hdim -> hdim scale 1  : (tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x2x8xf32, #ptl.dims<[seq, kv, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>) -> (tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4xf32, #ptl.dims<[seq, heads]>>)
  return
}

// -----

func.func @attention_c2_size(%q: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, %k: tensor<6x3x8xf32, #ptl.dims<[seq, heads, hdim]>>, %v: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>) {
  // expected-error @below {{sizes of 'heads' differ in the queries and in the keys}}
  %y:2 = ptl.attention %q, %k, %v  over seq depth hdim -> hdim scale 1  : (tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x3x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>) -> (tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4xf32, #ptl.dims<[seq, heads]>>)
  return
}

// -----

func.func @attention_c2_depth(%q: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, %k: tensor<6x4x5xf32, #ptl.dims<[seq, heads, hdim]>>, %v: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>) {
  // expected-error @below {{queries and keys differ in depth}}
  %y:2 = ptl.attention %q, %k, %v  over seq depth hdim -> hdim scale 1  : (tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x5xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>) -> (tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4xf32, #ptl.dims<[seq, heads]>>)
  return
}

// -----

func.func @attention_c2_number(%q: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, %k: tensor<5x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, %v: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>) {
  // expected-error @below {{keys and values differ in number}}
  %y:2 = ptl.attention %q, %k, %v  over seq depth hdim -> hdim scale 1  : (tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<5x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>) -> (tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4xf32, #ptl.dims<[seq, heads]>>)
  return
}

// -----

func.func @attention_c2_group(%q: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, %k: tensor<6x3x8xf32, #ptl.dims<[seq, kv, hdim]>>, %v: tensor<6x3x8xf32, #ptl.dims<[seq, kv, hdim]>>) {
  // expected-error @below {{4 query heads can't share 3 key heads}}
  %y:2 = ptl.attention %q, %k, %v  over seq depth hdim -> hdim scale 1 group [heads] -> [kv] : (tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x3x8xf32, #ptl.dims<[seq, kv, hdim]>>, tensor<6x3x8xf32, #ptl.dims<[seq, kv, hdim]>>) -> (tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4xf32, #ptl.dims<[seq, heads]>>)
  return
}

// -----

func.func @attention_c2_group_names(%q: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, %k: tensor<6x2x8xf32, #ptl.dims<[seq, kv, hdim]>>, %v: tensor<6x2x8xf32, #ptl.dims<[seq, kv, hdim]>>) {
  // expected-error @below {{'group' needs one name on each side}}
  %y:2 = ptl.attention %q, %k, %v  over seq depth hdim -> hdim scale 1 group [heads, hdim] -> [kv] : (tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x2x8xf32, #ptl.dims<[seq, kv, hdim]>>, tensor<6x2x8xf32, #ptl.dims<[seq, kv, hdim]>>) -> (tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4xf32, #ptl.dims<[seq, heads]>>)
  return
}

// -----

func.func @attention_c3(%q: tensor<3x4x8xf32, #ptl.dims<[tgt, heads, hdim]>>, %k: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, %v: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>) {
  // expected-error @below {{'causal' and 'window' need queries along 'seq'}}
  %y:2 = ptl.attention %q, %k, %v  over seq depth hdim -> hdim scale 1 causal : (tensor<3x4x8xf32, #ptl.dims<[tgt, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>) -> (tensor<3x4x8xf32, #ptl.dims<[tgt, heads, hdim]>>, tensor<3x4xf32, #ptl.dims<[tgt, heads]>>)
  return
}

// -----

func.func @attention_c4(%q: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, %k: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, %v: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, %m: tensor<6x4xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{the mask must be i1, is 'f32'}}
  %y:2 = ptl.attention %q, %k, %v mask %m over seq depth hdim -> hdim scale 1  : (tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4xf32, #ptl.dims<[seq, heads]>>) -> (tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4xf32, #ptl.dims<[seq, heads]>>)
  return
}

// -----

func.func @attention_c4_dim(%q: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, %k: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, %v: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, %m: tensor<3xi1, #ptl.dims<[batch]>>) {
  // expected-error @below {{the scores have no dimension 'batch' of the mask}}
  %y:2 = ptl.attention %q, %k, %v mask %m over seq depth hdim -> hdim scale 1  : (tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<3xi1, #ptl.dims<[batch]>>) -> (tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4xf32, #ptl.dims<[seq, heads]>>)
  return
}

// -----

func.func @attention_c5(%q: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, %k: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, %v: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>) {
  // expected-error @below {{y must be}}
  %y:2 = ptl.attention %q, %k, %v  over seq depth hdim -> hdim scale 1  : (tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>) -> (tensor<6x4xf32, #ptl.dims<[seq, heads]>>, tensor<6x4xf32, #ptl.dims<[seq, heads]>>)
  return
}

// -----

func.func @attention_c5_lse(%q: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, %k: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, %v: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>) {
  // expected-error @below {{lse must be}}
  %y:2 = ptl.attention %q, %k, %v  over seq depth hdim -> hdim scale 1  : (tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>) -> (tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>)
  return
}

// -----

func.func @attention_grad_c1(%q: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, %l: tensor<6x4xf32, #ptl.dims<[seq, heads]>>, %dy: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>) {
  // expected-error @below {{key [seq, heads, hdim] has no dimension 'key'}}
  %y:3 = ptl.attention_grad %dy, %q, %q, %q, %q, %l over key depth hdim -> hdim scale 1 : (tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4xf32, #ptl.dims<[seq, heads]>>) -> (tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>)
  return
}

// -----

func.func @attention_grad_c2(%q: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, %l: tensor<6x4xf32, #ptl.dims<[seq, heads]>>, %dy: tensor<6x4xf32, #ptl.dims<[seq, heads]>>) {
  // expected-error @below {{dy must be}}
  %y:3 = ptl.attention_grad %dy, %q, %q, %q, %q, %l over seq depth hdim -> hdim scale 1 : (tensor<6x4xf32, #ptl.dims<[seq, heads]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4xf32, #ptl.dims<[seq, heads]>>) -> (tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>)
  return
}

// -----

func.func @attention_grad_c2_results(%q: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, %l: tensor<6x4xf32, #ptl.dims<[seq, heads]>>, %dy: tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>) {
  // expected-error @below {{dk must be}}
  %y:3 = ptl.attention_grad %dy, %q, %q, %q, %q, %l over seq depth hdim -> hdim scale 1 : (tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4xf32, #ptl.dims<[seq, heads]>>) -> (tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>, tensor<6x4xf32, #ptl.dims<[seq, heads]>>, tensor<6x4x8xf32, #ptl.dims<[seq, heads, hdim]>>)
  return
}
