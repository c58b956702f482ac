// The loss of one transformer block with a tied embedding and targets that are ignored, for steps.py.
#bs = #ptl.dims<[batch, seq]>
#ve = #ptl.dims<[vocab, embed]>
#se = #ptl.dims<[seq, embed]>
#e = #ptl.dims<[embed]>
#ehd = #ptl.dims<[embed, heads, hdim]>
#hde = #ptl.dims<[heads, hdim, embed]>
#bse = #ptl.dims<[batch, seq, embed]>
#bsh = #ptl.dims<[batch, seq, heads]>
#bshd = #ptl.dims<[batch, seq, heads, hdim]>
#bsv = #ptl.dims<[batch, seq, vocab]>
#bsf = #ptl.dims<[batch, seq, ffn]>
#ef = #ptl.dims<[embed, ffn]>
#fe = #ptl.dims<[ffn, embed]>
#f = #ptl.dims<[ffn]>
!ids = tensor<6x4xi32, #bs>
!mask = tensor<6x4xi1, #bs>
!row = tensor<6x4xf32, #bs>
!h = tensor<6x4x8xf32, #bse>
!q = tensor<6x4x2x4xf32, #bshd>
!w = tensor<8x2x4xf32, #ehd>
!wte = tensor<11x8xf32, #ve>
!wf = tensor<8x12xf32, #ef>
!hf = tensor<6x4x12xf32, #bsf>
!z = tensor<6x4x11xf32, #bsv>
func.func @loss(%wte: !wte {ptl.role = "weight", ptl.path = "wte"}, %wpe: tensor<4x8xf32, #se> {ptl.role = "weight", ptl.path = "wpe"},
                %g: tensor<8xf32, #e> {ptl.role = "weight", ptl.path = "g"}, %wq: !w {ptl.role = "weight", ptl.path = "wq"},
                %wk: !w {ptl.role = "weight", ptl.path = "wk"}, %wv: !w {ptl.role = "weight", ptl.path = "wv"},
                %wo: tensor<2x4x8xf32, #hde> {ptl.role = "weight", ptl.path = "wo"}, %w1: !wf {ptl.role = "weight", ptl.path = "w1"},
                %b1: tensor<12xf32, #f> {ptl.role = "weight", ptl.path = "b1"},
                %w2: tensor<12x8xf32, #fe> {ptl.role = "weight", ptl.path = "w2"},
                %tokens: !ids {ptl.role = "data", ptl.path = "tokens"}, %targets: !ids {ptl.role = "data", ptl.path = "targets"},
                %step: tensor<i64> {ptl.role = "step"})
    -> (tensor<f32> {ptl.role = "loss"}, tensor<f32> {ptl.role = "metric", ptl.path = "valid"}) {
  %t = ptl.gather %wte[vocab : %tokens] : (!wte, !ids) -> !h
  %p = ptl.broadcast %wpe : tensor<4x8xf32, #se> -> !h
  %x = ptl.elementwise add %t, %p : (!h, !h) -> !h
  %n, %mean, %rstd = ptl.layer_norm %x over embed eps 1.0e-05 : (!h) -> (!h, !row, !row)
  %gb = ptl.broadcast %g : tensor<8xf32, #e> -> !h
  %a = ptl.elementwise mul %n, %gb : (!h, !h) -> !h
  %q = ptl.dot %a, %wq over [embed] : (!h, !w) -> !q
  %k = ptl.dot %a, %wk over [embed] : (!h, !w) -> !q
  %v = ptl.dot %a, %wv over [embed] : (!h, !w) -> !q
  %y, %lse = ptl.attention %q, %k, %v over seq depth hdim -> hdim scale 0.5 causal : (!q, !q, !q) -> (!q, tensor<6x4x2xf32, #bsh>)
  %o = ptl.dot %y, %wo over [heads, hdim] : (!q, tensor<2x4x8xf32, #hde>) -> !h
  // Dropout: the same elements on every mesh.
  %u = ptl.random uniform place "block#0" step %step : tensor<i64> -> !h
  %rate = ptl.constant 0.25 : !h
  %kept = ptl.elementwise ge %u, %rate : (!h, !h) -> tensor<6x4x8xi1, #bse>
  %zero = ptl.constant 0.0 : !h
  %od = ptl.elementwise select %kept, %o, %zero : (tensor<6x4x8xi1, #bse>, !h, !h) -> !h
  %r = ptl.elementwise add %x, %od : (!h, !h) -> !h
  %m = ptl.dot %r, %w1 over [embed] : (!h, !wf) -> !hf
  %b = ptl.broadcast %b1 : tensor<12xf32, #f> -> !hf
  %mb = ptl.elementwise add %m, %b : (!hf, !hf) -> !hf
  %ga = ptl.elementwise gelu %mb : (!hf) -> !hf
  %d = ptl.dot %ga, %w2 over [ffn] : (!hf, tensor<12x8xf32, #fe>) -> !h
  %s = ptl.elementwise add %r, %d : (!h, !h) -> !h
  %z = ptl.dot %s, %wte over [embed] : (!h, !wte) -> !z
  %l, %lz = ptl.cross_entropy %z, %targets over vocab ignore 3 : (!z, !ids) -> (!row, !row)
  %total = ptl.reduce sum %l over [batch, seq] : !row -> tensor<f32>
  %three = ptl.constant 3.0 : !ids
  %real = ptl.elementwise ne %targets, %three : (!ids, !ids) -> !mask
  %ones = ptl.elementwise cast %real : (!mask) -> !row
  %count = ptl.reduce sum %ones over [batch, seq] : !row -> tensor<f32>
  %loss = ptl.elementwise div %total, %count : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %loss, %count : tensor<f32>, tensor<f32>
}
