//===- PtlTrainOps.td - Micro-batches, norm and optimizers -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_PTL_PTLTRAINOPS_TD
#define PTLC_DIALECTS_PTL_PTLTRAINOPS_TD

include "dialects/Ptl/PtlBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def Ptl_AccumulateOp : Ptl_Op<"accumulate", [RecursiveMemoryEffects, SingleBlock]> {
  let summary = "Adds up what its body yields for each micro-batch";
  let description = [{
    Runs the body for k = 0 .. pieces-1 and returns the sums, k ascending. The body
    sees outer values.
    Made by: Grad.

    * (C1) `pieces` is at least 1.
    * (C2) the body has one argument of type index.
    * (C3) the body yields float or integer values of the results' types; bf16 only for one piece.

    In a pipeline's rank, `rt.phase` says which part of a stage's work the body is; results
    with a pool of slots are no sums, but the value of each micro-batch, which other
    phases read for the same one.

    Example: `%s = ptl.accumulate pieces 2 (%k) -> tensor<f32> { ... ptl.yield %a : tensor<f32> }`
  }];
  let arguments = (ins I64Attr:$pieces);
  let results = (outs Variadic<Ptl_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let builders = [
    // Creates the body's block with its argument; the caller adds operations and the yield.
    OpBuilder<(ins "::mlir::TypeRange":$types, "int64_t":$pieces)>
  ];
  let extraClassDeclaration = [{
    ::mlir::Value getPiece() { return getBody().getArgument(0); }
  }];
}

def Ptl_YieldOp : Ptl_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["AccumulateOp"]>]> {
  let summary = "Ends the body of ptl.accumulate";
  let description = [{
    Example: `ptl.yield %a : tensor<f32>`
  }];
  let arguments = (ins Variadic<Ptl_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{ }]>];
}

def Ptl_MicrobatchOp : Ptl_Op<"microbatch", [Pure, Ptl_Sharded, Ptl_Counted]> {
  let summary = "One piece of the batch";
  let description = [{
    Rows [piece * b, (piece + 1) * b) of `dim`, where b = ceil(size / pieces). Rows
    beyond the end are 0.
    Made by: Grad.

    * (C1) `dim` is a dimension of the operand.
    * (C2) the result's size of `dim` is ceil(size / pieces); all else is equal.

    Example: `%t = ptl.microbatch %tokens[%k] of 2 along batch : tensor<16x8xi32, ...> -> tensor<8x8xi32, ...>`
  }];
  let arguments = (ins Ptl_Tensor:$x, Index:$piece, I64Attr:$pieces, StrAttr:$dim);
  let results = (outs Ptl_Tensor:$result);
  let assemblyFormat = [{
    $x `[` $piece `]` `of` $pieces `along` custom<DimName>($dim) attr-dict `:` type($x) `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$x, "::mlir::Value":$piece, "int64_t":$pieces, "::mlir::StringAttr":$dim)>];
  let hasVerifier = 1;
}

def Ptl_GlobalNormOp : Ptl_Op<"global_norm", [Pure, Ptl_Sharded, Ptl_Counted]> {
  let summary = "The square root of the sum of the squares of all elements";
  let description = [{
    * (C1) operands are float tensors.
    * (C2) the result is a float scalar.

    Example: `%n = ptl.global_norm %a, %b : (tensor<4xf32, ...>, tensor<2xf32, ...>) -> tensor<f32>`
  }];
  let arguments = (ins Variadic<Ptl_Tensor>:$operands);
  let results = (outs Ptl_Tensor:$result);
  let assemblyFormat = "$operands attr-dict `:` functional-type($operands, $result)";
  let hasVerifier = 1;
}

def Ptl_OptimizeOp : Ptl_Op<"optimize", [Pure, Ptl_Sharded, Ptl_Counted, AttrSizedOperandSegments, AttrSizedResultSegments]> {
  let summary = "Updates the weights of one optimizer group";
  let description = [{
    The update rules of PyTorch (Lion: of its paper). `step` counts from 0. The
    gradient is multiplied by the last hyper-parameter, `scale`, first. States
    stand kind by kind: adamw m of each weight, then v of each; sgd the momentum
    buffers, if it has momentum; lion m. Hyper-parameters, all scalars:
    adamw: lr, beta1, beta2, eps, weight_decay, scale; sgd: lr, momentum, dampening,
    weight_decay, scale; lion: lr, beta1, beta2, weight_decay, scale.

    Two optimizers need whole tensors between their states and their weights, and so have
    two operations. The first, `muon` or `lamb`, updates the states and returns, in the place of
    new weights, the *direction* of each weight: muon (momentum, scale) its momentum,
    lamb (beta1, beta2, eps, weight_decay, scale; states m and v) adamw's step over the
    learning rate with the decay added. What else it takes is in ordinary operations. The second,
    `apply` (lr, weight_decay, scale), has no states and takes the result for the gradient:
    w (1 - lr weight_decay) - lr scale g.

    * (C1) one gradient per weight, of its type or the same in bf16; one new weight per weight.
    * (C2) the number of states is that of `kind`, times the number of weights, of their types.
    * (C3) the number of hyper-parameters is that of `kind`; they are float scalars.
    * (C4) `step` is a tensor<i64>.
    * (C5) `names` has a path per weight.

    Example: `%w1, %m1 = ptl.optimize lion weights(%w : ...) grads(%g : ...) states(%m : ...) hypers(%lr, %b1, %b2, %wd, %c : ...) step %step : tensor<i64> names ["w"] -> (...) states(...)`
  }];
  let arguments = (ins Ptl_OptimizerKindAttr:$kind, Variadic<Ptl_Tensor>:$weights, Variadic<Ptl_Tensor>:$grads,
    Variadic<Ptl_Tensor>:$states, Variadic<Ptl_Tensor>:$hypers, Ptl_Tensor:$step, StrArrayAttr:$names,
    UnitAttr:$nesterov);
  let results = (outs Variadic<Ptl_Tensor>:$newWeights, Variadic<Ptl_Tensor>:$newStates);
  let assemblyFormat = [{
    $kind `weights` `(` $weights `:` type($weights) `)` `grads` `(` $grads `:` type($grads) `)`
    (`states` `(` $states^ `:` type($states) `)`)? `hypers` `(` $hypers `:` type($hypers) `)`
    `step` $step `:` type($step) `names` $names (`nesterov` $nesterov^)? attr-dict
    `->` `(` type($newWeights) `)` (`states` `(` type($newStates)^ `)`)?
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "OptimizerKind":$kind, "::mlir::ValueRange":$weights, "::mlir::ValueRange":$grads, "::mlir::ValueRange":$states, "::mlir::ValueRange":$hypers, "::mlir::Value":$step, "::llvm::ArrayRef<::llvm::StringRef>":$names, "bool":$nesterov)>];
  let extraClassDeclaration = [{
    /// Returns the number of states per weight: of adamw and lamb 2, of lion and muon 1, of sgd 1
    /// with momentum, else 0.
    unsigned getStatesPerWeight();
    /// Returns the number of hyper-parameters of a kind, with `scale`.
    static unsigned hyperCount(OptimizerKind kind);
    /// True if the first results are directions, not new weights.
    bool makesDirections() { return getKind() == OptimizerKind::Muon || getKind() == OptimizerKind::Lamb; }
    /// True if the operation takes gradients of the loss, not what was made of them.
    bool readsGradients() { return getKind() != OptimizerKind::Apply; }
  }];
}

#endif // PTLC_DIALECTS_PTL_PTLTRAINOPS_TD
