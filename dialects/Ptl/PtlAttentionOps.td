//===- PtlAttentionOps.td - Attention and rotary embedding -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_PTL_PTLATTENTIONOPS_TD
#define PTLC_DIALECTS_PTL_PTLATTENTIONOPS_TD

include "dialects/Ptl/PtlBase.td"

defvar Ptl_AttentionAttributes = (ins
  StrAttr:$over,                     // the keys' dimension, in k and v
  StrAttr:$depth,                    // summed between q and k
  StrAttr:$valueDepth,               // of v and y; often `depth` itself
  F64Attr:$scale,                    // of the scores
  OptionalAttr<Ptl_ArrowAttr>:$group, // heads of q -> heads of k and v
  UnitAttr:$causal,                  // query i sees keys j <= i
  OptionalAttr<I64Attr>:$window,     // query i sees keys j > i - window
  OptionalAttr<AnyAttr>:$cut);

def Ptl_AttentionOp : Ptl_MathOp<"attention", [Ptl_Composite]> {
  let summary = "softmax(scale * q . k) . v along the keys' dimension";
  let description = [{
    Scores have q's dimensions except `depth`, and the keys' dimension `over`. If q
    has `over`, too (self-attention), queries and keys are two dimensions of one
    name: the expansion calls the keys' one "over.key". All other names are aligned.
    With `group` [heads -> kv_heads], query head h uses key head h / (heads /
    kv_heads). A score is masked where `mask` is false, by `causal` and by `window`,
    which compare global positions. In the mask, `over` names the keys, and
    "over.query" the queries of self-attention. Returns the log of the sum of
    exponentials of the scores, too, for the gradient.

    * (C1) `over` is a dimension of k and v, `depth` of q and k, `value_depth` of v.
    * (C2) k and v have no other dimensions than these and, after `group`, those of q.
    * (C3) `causal` and `window` need self-attention.
    * (C4) the mask is i1; its dimensions are dimensions of the scores.
    * (C5) y has q's dimensions with `value_depth` in the place of `depth`, lse q's without `depth`.
    * (C6) q, k, v and y are of one element type; of bf16 the scores and lse are f32.

    Example: `%y, %lse = ptl.attention %q, %k, %v over seq depth hdim -> hdim scale 0.5 causal : (...) -> (tensor<4x6x2x8xf32, ...>, tensor<4x6x2xf32, ...>)`
  }];
  let arguments = !con((ins Ptl_Tensor:$q, Ptl_Tensor:$k, Ptl_Tensor:$v, Optional<Ptl_Tensor>:$mask), Ptl_AttentionAttributes);
  let results = (outs Ptl_Tensor:$y, Ptl_Tensor:$lse);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`mask` $mask^)? `over` custom<DimName>($over)
    `depth` custom<DimName>($depth) `->` custom<DimName>($valueDepth) `scale` custom<Number>($scale)
    (`group` custom<Arrow>($group)^)? (`causal` $causal^)? (`window` $window^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$q, "::mlir::Value":$k, "::mlir::Value":$v, "::mlir::Value":$mask,
      "::mlir::StringAttr":$over, "::mlir::StringAttr":$depth, "::mlir::StringAttr":$valueDepth, "double":$scale,
      "ArrowAttr":$group, "bool":$causal, "std::optional<int64_t>":$window)>
  ];
  let extraClassDeclaration = [{
    /// Returns whether queries and keys share the name `over`.
    bool isSelfAttention();
  }];
}

def Ptl_AttentionGradOp : Ptl_PlainOp<"attention_grad", [Ptl_Composite]> {
  let summary = "Gradients of attention for q, k and v";
  let description = [{
    Computes the probabilities again from q, k and lse.

    * (C1) q, k, v, mask, y and lse fit together as in `ptl.attention`.
    * (C2) dy has y's type; dq, dk, dv have those of q, k, v.

    Example: `%dq, %dk, %dv = ptl.attention_grad %dy, %q, %k, %v, %y, %lse over seq depth hdim -> hdim scale 0.5 causal : (...) -> (...)`
  }];
  let arguments = !con((ins Ptl_Tensor:$dy, Ptl_Tensor:$q, Ptl_Tensor:$k, Ptl_Tensor:$v, Ptl_Tensor:$y, Ptl_Tensor:$lse, Optional<Ptl_Tensor>:$mask), Ptl_AttentionAttributes);
  let results = (outs Ptl_Tensor:$dq, Ptl_Tensor:$dk, Ptl_Tensor:$dv);
  let assemblyFormat = [{
    $dy `,` $q `,` $k `,` $v `,` $y `,` $lse (`mask` $mask^)? `over` custom<DimName>($over)
    `depth` custom<DimName>($depth) `->` custom<DimName>($valueDepth) `scale` custom<Number>($scale)
    (`group` custom<Arrow>($group)^)? (`causal` $causal^)? (`window` $window^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let builders = [OpBuilder<(ins "AttentionOp":$forward, "::mlir::Value":$dy)>];
  let extraClassDeclaration = [{
    bool isSelfAttention();
  }];
}

def Ptl_RopeOp : Ptl_MathOp<"rope", [Ptl_Composite]> {
  let summary = "Rotary position embedding; halves are rotated";
  let description = [{
    With h = size of `over` / 2 and, for j < h and position p along `along`, the
    angle a = p * theta^(-j / h): y[j] = x[j] cos a - x[j + h] sin a and
    y[j + h] = x[j + h] cos a + x[j] sin a. `inverse` rotates the other way: it is
    the gradient. Positions are global.

    * (C1) `over` and `along` are two dimensions of the operand.
    * (C2) the size of `over` is even.
    * (C3) operand and result are of one float type.

    Example: `%y = ptl.rope %x over hdim along seq theta 10000.0 : tensor<4x8xf32, ...> -> tensor<4x8xf32, ...>`
  }];
  let arguments = (ins Ptl_Tensor:$x, StrAttr:$over, StrAttr:$along, F64Attr:$theta, UnitAttr:$inverse, OptionalAttr<AnyAttr>:$cut);
  let results = (outs Ptl_Tensor:$result);
  let assemblyFormat = [{
    $x `over` custom<DimName>($over) `along` custom<DimName>($along) `theta` custom<Number>($theta)
    (`inverse` $inverse^)? attr-dict `:` type($x) `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$x, "::mlir::StringAttr":$over, "::mlir::StringAttr":$along, "double":$theta, CArg<"bool", "false">:$inverse)>];
}

#endif // PTLC_DIALECTS_PTL_PTLATTENTIONOPS_TD
