// Operations that are no composites, for partition.py: every function stands alone.
#b = #ptl.dims<[b]>
#s = #ptl.dims<[s]>
#v = #ptl.dims<[v]>
#e = #ptl.dims<[e]>
#bs = #ptl.dims<[b, s]>
#be = #ptl.dims<[b, e]>
#ef = #ptl.dims<[e, f]>
#bf = #ptl.dims<[b, f]>
#fb = #ptl.dims<[f, b]>
#ve = #ptl.dims<[v, e]>
#bse = #ptl.dims<[b, s, e]>
#bsv = #ptl.dims<[b, s, v]>
#bshd = #ptl.dims<[b, s, h, d]>
!bs = tensor<5x3xf32, #bs>
!ids = tensor<5x3xi32, #bs>
!ve = tensor<7x6xf32, #ve>
!bse = tensor<5x3x6xf32, #bse>
!be = tensor<5x6xf32, #be>
!ef = tensor<6x4xf32, #ef>
!bf = tensor<5x4xf32, #bf>

// A product forward and backward, with a bias, and a function that is nowhere 0 on padding.
func.func @linear(%x: !be, %w: !ef, %bias: tensor<4xf32, #ptl.dims<[f]>>, %dy: !bf)
    -> (!bf, tensor<4x5xf32, #fb>, !be, !ef, tensor<4xf32, #ptl.dims<[f]>>) {
  %0 = ptl.dot %x, %w over [e] : (!be, !ef) -> !bf
  %1 = ptl.broadcast %bias : tensor<4xf32, #ptl.dims<[f]>> -> !bf
  %2 = ptl.elementwise add %0, %1 : (!bf, !bf) -> !bf
  %3 = ptl.elementwise exp %2 : (!bf) -> !bf
  %4 = ptl.broadcast %3 : !bf -> tensor<4x5xf32, #fb>
  %dx = ptl.dot %dy, %w over [f] : (!bf, !ef) -> !be
  %dw = ptl.dot %x, %dy over [b] : (!be, !bf) -> !ef
  %db = ptl.reduce sum %dy over [b] : !bf -> tensor<4xf32, #ptl.dims<[f]>>
  return %3, %4, %dx, %dw, %db : !bf, tensor<4x5xf32, #fb>, !be, !ef, tensor<4xf32, #ptl.dims<[f]>>
}

func.func @folds(%x: !bse) -> (tensor<f32>, !bs, tensor<3xf32, #s>, tensor<f32>, tensor<f32>) {
  %0 = ptl.elementwise exp %x : (!bse) -> !bse
  %sum = ptl.reduce sum %0 over [b, s, e] : !bse -> tensor<f32>
  %max = ptl.reduce max %0 over [e] : !bse -> !bs
  %min = ptl.reduce min %max over [b] : !bs -> tensor<3xf32, #s>
  %least = ptl.reduce min %x over [b, s, e] : !bse -> tensor<f32>
  %norm = ptl.global_norm %0, %max : (!bse, !bs) -> tensor<f32>
  return %sum, %max, %min, %least, %norm : tensor<f32>, !bs, tensor<3xf32, #s>, tensor<f32>, tensor<f32>
}

func.func @table(%t: !ve, %ids: !ids, %dh: !bse) -> (!bse, !ve, !bs) {
  %h = ptl.gather %t[v : %ids] : (!ve, !ids) -> !bse
  %d = ptl.scatter_add %ids, %dh over v : (!ids, !bse) -> !ve
  %z = ptl.dot %dh, %t over [e] : (!bse, !ve) -> tensor<5x3x7xf32, #bsv>
  %own = ptl.gather %z[v : %ids] : (tensor<5x3x7xf32, #bsv>, !ids) -> !bs
  return %h, %d, %own : !bse, !ve, !bs
}

func.func @one_hot(%ids: !ids) -> (tensor<5x3x7xf32, #bsv>, tensor<7xf32, #v>) {
  %i = ptl.iota v : tensor<7xi32, #v>
  %n = ptl.broadcast %i : tensor<7xi32, #v> -> tensor<5x3x7xi32, #bsv>
  %t = ptl.broadcast %ids : !ids -> tensor<5x3x7xi32, #bsv>
  %c = ptl.elementwise eq %n, %t : (tensor<5x3x7xi32, #bsv>, tensor<5x3x7xi32, #bsv>) -> tensor<5x3x7xi1, #bsv>
  %f = ptl.elementwise cast %c : (tensor<5x3x7xi1, #bsv>) -> tensor<5x3x7xf32, #bsv>
  %count = ptl.reduce sum %f over [b, s] : tensor<5x3x7xf32, #bsv> -> tensor<7xf32, #v>
  return %f, %count : tensor<5x3x7xf32, #bsv>, tensor<7xf32, #v>
}

func.func @reshape(%x: !bse) -> (tensor<5x3x2x3xf32, #bshd>, tensor<15x6xf32, #ptl.dims<[n, e]>>, tensor<5x3x6xf32, #ptl.dims<[b, key, e]>>) {
  %split = ptl.reshape %x [[e] -> [h, d]] : !bse -> tensor<5x3x2x3xf32, #bshd>
  %merge = ptl.reshape %x [[b, s] -> [n]] : !bse -> tensor<15x6xf32, #ptl.dims<[n, e]>>
  %rename = ptl.reshape %x [[s] -> [key]] : !bse -> tensor<5x3x6xf32, #ptl.dims<[b, key, e]>>
  return %split, %merge, %rename : tensor<5x3x2x3xf32, #bshd>, tensor<15x6xf32, #ptl.dims<[n, e]>>, tensor<5x3x6xf32, #ptl.dims<[b, key, e]>>
}

func.func @resize(%x: !bs, %y: tensor<5x2xf32, #ptl.dims<[b, t]>>)
    -> (tensor<5x5xf32, #ptl.dims<[b, z]>>, tensor<5x2xf32, #ptl.dims<[b, t]>>, tensor<5x5xf32, #ptl.dims<[b, z]>>) {
  %0 = ptl.concat %x, %y [s, t] -> z : (!bs, tensor<5x2xf32, #ptl.dims<[b, t]>>) -> tensor<5x5xf32, #ptl.dims<[b, z]>>
  %1 = ptl.slice %x s -> t from 1 : !bs -> tensor<5x2xf32, #ptl.dims<[b, t]>>
  %2 = ptl.pad %x s -> z before 1 value 3 : !bs -> tensor<5x5xf32, #ptl.dims<[b, z]>>
  return %0, %1, %2 : tensor<5x5xf32, #ptl.dims<[b, z]>>, tensor<5x2xf32, #ptl.dims<[b, t]>>, tensor<5x5xf32, #ptl.dims<[b, z]>>
}

func.func @order(%x: !bse) -> (!ids, tensor<5x3x2xf32, #ptl.dims<[b, s, k]>>, tensor<5x3x2xi32, #ptl.dims<[b, s, k]>>) {
  %0 = ptl.argmax %x over e : !bse -> !ids
  %1, %2 = ptl.top_k %x e -> k : !bse -> (tensor<5x3x2xf32, #ptl.dims<[b, s, k]>>, tensor<5x3x2xi32, #ptl.dims<[b, s, k]>>)
  return %0, %1, %2 : !ids, tensor<5x3x2xf32, #ptl.dims<[b, s, k]>>, tensor<5x3x2xi32, #ptl.dims<[b, s, k]>>
}

func.func @random(%step: tensor<i64> {run.value = [3]}) -> (!bse, tensor<f32>) {
  %0 = ptl.random normal place "p#0" step %step : tensor<i64> -> !bse
  %1 = ptl.random uniform place "p#1" step %step : tensor<i64> -> !bse
  %2 = ptl.elementwise mul %0, %1 : (!bse, !bse) -> !bse
  %3 = ptl.reduce sum %2 over [b, s, e] : !bse -> tensor<f32>
  return %2, %3 : !bse, tensor<f32>
}

// One linear step: the gradient's norm counts each element once, states lie where their weight does.
func.func @step(%w: !ef {ptl.role = "weight", ptl.path = "w"}, %m: !ef {ptl.role = "state", ptl.path = "w#m"},
                %v: !ef {ptl.role = "state", ptl.path = "w#v"}, %x: !be {ptl.role = "data", ptl.path = "x"},
                %dy: !bf {ptl.role = "data", ptl.path = "dy"}, %h: tensor<f32> {run.value = [0.1]},
                %step: tensor<i64> {ptl.role = "step"})
    -> (!ef {ptl.role = "weight", ptl.path = "w"}, !ef {ptl.role = "state", ptl.path = "w#m"},
        !ef {ptl.role = "state", ptl.path = "w#v"}, tensor<f32> {ptl.role = "grad_norm"}) {
  %g = ptl.dot %x, %dy over [b] : (!be, !bf) -> !ef
  %n = ptl.global_norm %g : (!ef) -> tensor<f32>
  %0:3 = ptl.optimize adamw weights(%w : !ef) grads(%g : !ef) states(%m, %v : !ef, !ef)
    hypers(%h, %h, %h, %h, %h, %n : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
    step %step : tensor<i64> names ["w"] -> (!ef) states(!ef, !ef)
  return %0#0, %0#1, %0#2, %n : !ef, !ef, !ef, tensor<f32>
}
