// RUN: ptl-opt %s --split-input-file --verify-diagnostics --grad-build-step

// expected-error @below {{has no 'ptl.train'}}
module attributes {ptl.plan = {microbatches = 1 : i64}} {
func.func @loss(%w: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "w"}, %x: tensor<6x4xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "x"}, %step: tensor<i64> {ptl.role = "step"})
    -> (tensor<f32> {ptl.role = "loss"}) {
  %s = ptl.reduce sum %x over [batch, embed] : tensor<6x4xf32, #ptl.dims<[batch, embed]>> -> tensor<f32>
  return %s : tensor<f32>
}
}

// -----

// expected-error @below {{'ptl.train' has no optimizers}}
module attributes {ptl.train = {}, ptl.plan = {microbatches = 1 : i64}} {
func.func @loss(%w: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "w"}, %x: tensor<6x4xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "x"}, %step: tensor<i64> {ptl.role = "step"})
    -> (tensor<f32> {ptl.role = "loss"}) {
  %s = ptl.reduce sum %x over [batch, embed] : tensor<6x4xf32, #ptl.dims<[batch, embed]>> -> tensor<f32>
  return %s : tensor<f32>
}
}

// -----

// expected-error @below {{an optimizer of 'ptl.train' needs a kind and weights}}
module attributes {ptl.train = {optimizers = [{weights = []}]}, ptl.plan = {microbatches = 1 : i64}} {
func.func @loss(%w: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "w"}, %x: tensor<6x4xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "x"}, %step: tensor<i64> {ptl.role = "step"})
    -> (tensor<f32> {ptl.role = "loss"}) {
  %s = ptl.reduce sum %x over [batch, embed] : tensor<6x4xf32, #ptl.dims<[batch, embed]>> -> tensor<f32>
  return %s : tensor<f32>
}
}

// -----

// expected-error @below {{an optimizer updates 'v', which '@loss' doesn't take}}
module attributes {ptl.train = {optimizers = [{kind = "sgd", weights = ["v"]}]}, ptl.plan = {microbatches = 1 : i64}} {
func.func @loss(%w: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "w"}, %x: tensor<6x4xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "x"}, %step: tensor<i64> {ptl.role = "step"})
    -> (tensor<f32> {ptl.role = "loss"}) {
  %s = ptl.reduce sum %x over [batch, embed] : tensor<6x4xf32, #ptl.dims<[batch, embed]>> -> tensor<f32>
  return %s : tensor<f32>
}
}

// -----

module attributes {ptl.train = {batch = 6, optimizers = [{kind = "sgd", weights = ["w"], lr = 0.1 : f64}]}, ptl.plan = {microbatches = 1 : i64}} {
// expected-error @below {{weight 0 has no 'ptl.path'}}
func.func @loss(%w: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight"}, %x: tensor<6x4xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "x"}, %step: tensor<i64> {ptl.role = "step"})
    -> (tensor<f32> {ptl.role = "loss"}) {
  %s = ptl.reduce sum %x over [batch, embed] : tensor<6x4xf32, #ptl.dims<[batch, embed]>> -> tensor<f32>
  return %s : tensor<f32>
}
}

// -----

module attributes {ptl.train = {batch = 6, optimizers = [{kind = "sgd", weights = ["w"], lr = 0.1 : f64}]}, ptl.plan = {microbatches = 1 : i64}} {
// expected-error @below {{argument 1 has the role 'hyper'; expected weight, data, step or valid}}
func.func @loss(%w: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "w"}, %x: tensor<6x4xf32, #ptl.dims<[batch, embed]>> {ptl.role = "hyper"}, %step: tensor<i64> {ptl.role = "step"})
    -> (tensor<f32> {ptl.role = "loss"}) {
  %s = ptl.reduce sum %x over [batch, embed] : tensor<6x4xf32, #ptl.dims<[batch, embed]>> -> tensor<f32>
  return %s : tensor<f32>
}
}

// -----

module attributes {ptl.train = {batch = 6, optimizers = [{kind = "sgd", weights = ["w"], lr = 0.1 : f64}]}, ptl.plan = {microbatches = 1 : i64}} {
// expected-error @below {{has no argument with the role 'step'}}
func.func @loss(%w: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "w"}, %x: tensor<6x4xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "x"})
    -> (tensor<f32> {ptl.role = "loss"}) {
  %s = ptl.reduce sum %x over [batch, embed] : tensor<6x4xf32, #ptl.dims<[batch, embed]>> -> tensor<f32>
  return %s : tensor<f32>
}
}

// -----

module attributes {ptl.train = {batch = 6, optimizers = [{kind = "sgd", weights = ["w"], lr = 0.1 : f64}]}, ptl.plan = {microbatches = 2 : i64}} {
func.func @loss(%w: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "w"}, %x: tensor<6x4xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "x"}, %step: tensor<i64> {ptl.role = "step"})
    -> (tensor<f32> {ptl.role = "loss"}) {
  %b = ptl.broadcast %w : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<6x4xf32, #ptl.dims<[batch, embed]>>
  %y = ptl.elementwise mul %x, %b : (tensor<6x4xf32, #ptl.dims<[batch, embed]>>, tensor<6x4xf32, #ptl.dims<[batch, embed]>>) -> tensor<6x4xf32, #ptl.dims<[batch, embed]>>
  %m = ptl.reduce sum %y over [batch] : tensor<6x4xf32, #ptl.dims<[batch, embed]>> -> tensor<4xf32, #ptl.dims<[embed]>>
  // expected-error @below {{a total over the batch is used non-linearly, so the batch can't be cut into micro-batches}}
  %q = ptl.elementwise mul %m, %m : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %s = ptl.reduce sum %q over [embed] : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<f32>
  return %s : tensor<f32>
}
}

// -----

module attributes {ptl.train = {batch = 6, optimizers = [{kind = "sgd", weights = ["w"], lr = 0.1 : f64}]}, ptl.plan = {microbatches = 2 : i64}} {
func.func @loss(%w: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "w"}, %x: tensor<6x4xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "x"}, %step: tensor<i64> {ptl.role = "step"})
    -> (tensor<f32> {ptl.role = "loss"}) {
  %b = ptl.broadcast %w : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<6x4xf32, #ptl.dims<[batch, embed]>>
  %y = ptl.elementwise mul %x, %b : (tensor<6x4xf32, #ptl.dims<[batch, embed]>>, tensor<6x4xf32, #ptl.dims<[batch, embed]>>) -> tensor<6x4xf32, #ptl.dims<[batch, embed]>>
  %m = ptl.reduce sum %y over [batch] : tensor<6x4xf32, #ptl.dims<[batch, embed]>> -> tensor<4xf32, #ptl.dims<[embed]>>
  // expected-error @below {{a total over the batch is used non-linearly, so the batch can't be cut into micro-batches}}
  %q = ptl.elementwise exp %m : (tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<4xf32, #ptl.dims<[embed]>>
  %s = ptl.reduce sum %q over [embed] : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<f32>
  return %s : tensor<f32>
}
}

// -----

module attributes {ptl.train = {batch = 6, optimizers = [{kind = "sgd", weights = ["w"], lr = 0.1 : f64}]}, ptl.plan = {microbatches = 2 : i64}} {
func.func @loss(%w: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "w"}, %x: tensor<6x4xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "x"}, %step: tensor<i64> {ptl.role = "step"})
    -> (tensor<f32> {ptl.role = "loss"}) {
  // expected-error @below {{the batch can't be cut into micro-batches: this needs all of 'batch' at once}}
  %m = ptl.reduce max %x over [batch] : tensor<6x4xf32, #ptl.dims<[batch, embed]>> -> tensor<4xf32, #ptl.dims<[embed]>>
  %s = ptl.dot %m, %w over [embed] : (tensor<4xf32, #ptl.dims<[embed]>>, tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<f32>
  return %s : tensor<f32>
}
}

// -----

module attributes {ptl.train = {batch = 6, optimizers = [{kind = "sgd", weights = ["w"], lr = 0.1 : f64}]}, ptl.plan = {microbatches = 3 : i64}} {
func.func @loss(%w: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "w"}, %x: tensor<6x4xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "x"}, %step: tensor<i64> {ptl.role = "step"})
    -> (tensor<f32> {ptl.role = "loss"}) {
  // expected-error @below {{3 micro-batches can't divide 'groups', which has 2 elements}}
  %r = ptl.reshape %x [[batch] -> [groups, local]] : tensor<6x4xf32, #ptl.dims<[batch, embed]>> -> tensor<2x3x4xf32, #ptl.dims<[groups, local, embed]>>
  %s = ptl.reduce sum %r over [groups, local, embed] : tensor<2x3x4xf32, #ptl.dims<[groups, local, embed]>> -> tensor<f32>
  return %s : tensor<f32>
}
}

// -----

module attributes {ptl.train = {batch = 6, optimizers = [{kind = "sgd", weights = ["w"], lr = 0.1 : f64}]}, ptl.plan = {microbatches = 4 : i64}} {
func.func @loss(%w: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "w"}, %x: tensor<6x4xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "x"}, %step: tensor<i64> {ptl.role = "step"})
    -> (tensor<f32> {ptl.role = "loss"}) {
  // expected-error @below {{the batch can't be reshaped into 'tokens' in micro-batches of different sizes: 6 samples in 4 pieces}}
  %r = ptl.reshape %x [[batch, embed] -> [tokens]] : tensor<6x4xf32, #ptl.dims<[batch, embed]>> -> tensor<24xf32, #ptl.dims<[tokens]>>
  %s = ptl.reduce sum %r over [tokens] : tensor<24xf32, #ptl.dims<[tokens]>> -> tensor<f32>
  return %s : tensor<f32>
}
}

// -----

module attributes {ptl.train = {batch = 6, optimizers = [{kind = "sgd", weights = ["w"], lr = 0.1 : f64}]}, ptl.plan = {microbatches = 2 : i64}} {
func.func @loss(%w: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "w"}, %x: tensor<6x4xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "x"}, %step: tensor<i64> {ptl.role = "step"})
    -> (tensor<f32> {ptl.role = "loss"}) {
  // expected-error @below {{the batch can't be cut into micro-batches: 'batch' isn't the major part of what it is merged into}}
  %r = ptl.reshape %x [[embed, batch] -> [tokens]] : tensor<6x4xf32, #ptl.dims<[batch, embed]>> -> tensor<24xf32, #ptl.dims<[tokens]>>
  %s = ptl.reduce sum %r over [tokens] : tensor<24xf32, #ptl.dims<[tokens]>> -> tensor<f32>
  return %s : tensor<f32>
}
}

// -----

module attributes {ptl.train = {batch = 6, optimizers = [{kind = "sgd", weights = ["w"], lr = 0.1 : f64}]}, ptl.plan = {microbatches = 2 : i64}} {
// expected-error @below {{weight 'w' has the dimension of the batch, which micro-batches cut}}
func.func @loss(%w: tensor<6xf32, #ptl.dims<[batch]>> {ptl.role = "weight", ptl.path = "w"}, %x: tensor<6x4xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "x"}, %step: tensor<i64> {ptl.role = "step"})
    -> (tensor<f32> {ptl.role = "loss"}) {
  %s = ptl.reduce sum %x over [batch, embed] : tensor<6x4xf32, #ptl.dims<[batch, embed]>> -> tensor<f32>
  return %s : tensor<f32>
}
}

// -----

module attributes {ptl.train = {batch = 6, optimizers = [{kind = "sgd", weights = ["w"], lr = 0.1 : f64}]}, ptl.plan = {microbatches = 1 : i64}} {
func.func @loss(%w: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "w"}, %x: tensor<6x4xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "x"}, %step: tensor<i64> {ptl.role = "step"})
    -> (tensor<f32> {ptl.role = "loss"}) {
  // expected-error @below {{can't stand in a loss}}
  call @f() : () -> ()
  %s = ptl.reduce sum %x over [batch, embed] : tensor<6x4xf32, #ptl.dims<[batch, embed]>> -> tensor<f32>
  return %s : tensor<f32>
}
func.func private @f()
}

// -----

module attributes {ptl.train = {batch = 6, optimizers = [{kind = "sgd", weights = ["w"], lr = 0.1 : f64}]}, ptl.plan = {microbatches = 1 : i64}} {
func.func @loss(%w: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "w"}, %x: tensor<6x4xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "x"}, %step: tensor<i64> {ptl.role = "step"})
    -> (tensor<f32> {ptl.role = "loss"}) {
  %b = ptl.broadcast %w : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<6x4xf32, #ptl.dims<[batch, embed]>>
  // expected-error @below {{'gelu_grad' can't be differentiated again}}
  %y = ptl.elementwise gelu_grad %b, %x : (tensor<6x4xf32, #ptl.dims<[batch, embed]>>, tensor<6x4xf32, #ptl.dims<[batch, embed]>>) -> tensor<6x4xf32, #ptl.dims<[batch, embed]>>
  %s = ptl.reduce sum %y over [batch, embed] : tensor<6x4xf32, #ptl.dims<[batch, embed]>> -> tensor<f32>
  return %s : tensor<f32>
}
}

// -----

module attributes {ptl.train = {batch = 6, optimizers = [{kind = "sgd", weights = ["w"], lr = 0.1 : f64}]}, ptl.plan = {microbatches = 1 : i64}} {
func.func @loss(%w: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "w"}, %x: tensor<6x4xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "x"}, %step: tensor<i64> {ptl.role = "step"})
    -> (tensor<f32> {ptl.role = "loss"}) {
  %b = ptl.broadcast %w : tensor<4xf32, #ptl.dims<[embed]>> -> tensor<6x4xf32, #ptl.dims<[batch, embed]>>
  // expected-error @below {{only the first result can be differentiated; expand the operation before}}
  %y:2 = ptl.rms_norm %b over embed eps 1 : (tensor<6x4xf32, #ptl.dims<[batch, embed]>>) -> (tensor<6x4xf32, #ptl.dims<[batch, embed]>>, tensor<6xf32, #ptl.dims<[batch]>>)
  %s = ptl.reduce sum %y#1 over [batch] : tensor<6xf32, #ptl.dims<[batch]>> -> tensor<f32>
  return %s : tensor<f32>
}
}

// -----

module attributes {ptl.train = {batch = 6, optimizers = [{kind = "sgd", weights = ["w"], lr = 0.1 : f64}]}, ptl.plan = {microbatches = 1 : i64}} {
func.func @loss(%w: tensor<4xf32, #ptl.dims<[embed]>> {ptl.role = "weight", ptl.path = "w"}, %x: tensor<6x4xf32, #ptl.dims<[batch, embed]>> {ptl.role = "data", ptl.path = "x"}, %step: tensor<i64> {ptl.role = "step"})
    -> (tensor<f32> {ptl.role = "loss"}) {
  // expected-error @below {{can't be differentiated}}
  %n = ptl.global_norm %w : (tensor<4xf32, #ptl.dims<[embed]>>) -> tensor<f32>
  return %n : tensor<f32>
}
}
