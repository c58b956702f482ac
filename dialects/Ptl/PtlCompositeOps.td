//===- PtlCompositeOps.td - Softmax, norms and losses ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Composite operations are defined by their expansion. Each X that trains has an
// X_grad, whose expansion is the derivative of X's, given what X returned.
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_PTL_PTLCOMPOSITEOPS_TD
#define PTLC_DIALECTS_PTL_PTLCOMPOSITEOPS_TD

include "dialects/Ptl/PtlBase.td"

/// One operand and one result of its type, along one dimension.
class Ptl_AlongOp<string mnemonic> : Ptl_MathOp<mnemonic, [Ptl_Composite]> {
  let arguments = (ins Ptl_Tensor:$x, StrAttr:$over);
  let results = (outs Ptl_Tensor:$result);
  let assemblyFormat = "$x `over` custom<DimName>($over) attr-dict `:` type($x) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$x, "::mlir::StringAttr":$over), [{ build($_builder, $_state, x.getType(), x, over); }]>];
}

/// The gradient of an AlongOp from its result.
class Ptl_AlongGradOp<string mnemonic> : Ptl_PlainOp<mnemonic, [Ptl_Composite]> {
  let arguments = (ins Ptl_Tensor:$y, Ptl_Tensor:$dy, StrAttr:$over);
  let results = (outs Ptl_Tensor:$dx);
  let assemblyFormat = "$y `,` $dy `over` custom<DimName>($over) attr-dict `:` functional-type(operands, $dx)";
  let builders = [OpBuilder<(ins "::mlir::Value":$y, "::mlir::Value":$dy, "::mlir::StringAttr":$over), [{ build($_builder, $_state, y.getType(), y, dy, over); }]>];
}

def Ptl_SoftmaxOp : Ptl_AlongOp<"softmax"> {
  let summary = "exp(x - max) divided by its sum";
  let description = [{
    The maximum is behind a stop_gradient.

    * (C1) `over` is a dimension of the operand.
    * (C2) operand and result are of one float type.

    Example: `%p = ptl.softmax %x over key : tensor<4x8xf32, ...> -> tensor<4x8xf32, ...>`
  }];
}

def Ptl_SoftmaxGradOp : Ptl_AlongGradOp<"softmax_grad"> {
  let summary = "y * (dy - sum(y * dy))";
  let description = [{
    * (C1) `over` is a dimension of the operands.
    * (C2) operands and result are of one float type.

    Example: `%dx = ptl.softmax_grad %y, %dy over key : (tensor<4x8xf32, ...>, tensor<4x8xf32, ...>) -> tensor<4x8xf32, ...>`
  }];
}

def Ptl_LogSoftmaxOp : Ptl_AlongOp<"log_softmax"> {
  let summary = "x - max - log(sum(exp(x - max)))";
  let description = [{
    * (C1) `over` is a dimension of the operand.
    * (C2) operand and result are of one float type.

    Example: `%p = ptl.log_softmax %x over vocab : tensor<4x8xf32, ...> -> tensor<4x8xf32, ...>`
  }];
}

def Ptl_LogSoftmaxGradOp : Ptl_AlongGradOp<"log_softmax_grad"> {
  let summary = "dy - exp(y) * sum(dy)";
  let description = [{
    * (C1) `over` is a dimension of the operands.
    * (C2) operands and result are of one float type.

    Example: `%dx = ptl.log_softmax_grad %y, %dy over vocab : (tensor<4x8xf32, ...>, tensor<4x8xf32, ...>) -> tensor<4x8xf32, ...>`
  }];
}

def Ptl_LayerNormOp : Ptl_MathOp<"layer_norm", [Ptl_Composite]> {
  let summary = "(x - mean) / sqrt(variance + eps)";
  let description = [{
    Without scale and shift. The variance is that of the population. Returns the
    mean and rstd = 1/sqrt(variance + eps) for the gradient.

    * (C1) `over` is a dimension of the operand.
    * (C2) the first result has the operand's float type, the others lack `over`.

    Example: `%y, %mean, %rstd = ptl.layer_norm %x over embed eps 1.0e-05 : tensor<4x8xf32, ...> -> (tensor<4x8xf32, ...>, tensor<4xf32, ...>, tensor<4xf32, ...>)`
  }];
  let arguments = (ins Ptl_Tensor:$x, StrAttr:$over, F64Attr:$eps);
  let results = (outs Ptl_Tensor:$y, Ptl_Tensor:$mean, Ptl_Tensor:$rstd);
  let assemblyFormat = [{
    $x `over` custom<DimName>($over) `eps` custom<Number>($eps) attr-dict `:` functional-type(operands, results)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$x, "::mlir::StringAttr":$over, "double":$eps)>];
}

def Ptl_LayerNormGradOp : Ptl_PlainOp<"layer_norm_grad", [Ptl_Composite]> {
  let summary = "rstd * (dy - mean(dy) - xhat * mean(dy * xhat))";
  let description = [{
    xhat is (x - mean) * rstd; means are along `over`.

    * (C1) `over` is a dimension of dy and x.
    * (C2) dy, x and dx are of one float type; mean and rstd lack `over`.

    Example: `%dx = ptl.layer_norm_grad %dy, %x, %mean, %rstd over embed : (...) -> tensor<4x8xf32, ...>`
  }];
  let arguments = (ins Ptl_Tensor:$dy, Ptl_Tensor:$x, Ptl_Tensor:$mean, Ptl_Tensor:$rstd, StrAttr:$over);
  let results = (outs Ptl_Tensor:$dx);
  let assemblyFormat = [{
    $dy `,` $x `,` $mean `,` $rstd `over` custom<DimName>($over) attr-dict `:` functional-type(operands, $dx)
  }];
}

def Ptl_RmsNormOp : Ptl_MathOp<"rms_norm", [Ptl_Composite]> {
  let summary = "x / sqrt(mean(x * x) + eps)";
  let description = [{
    Returns rstd = 1/sqrt(mean(x * x) + eps) for the gradient.

    * (C1) `over` is a dimension of the operand.
    * (C2) the first result has the operand's float type, the other lacks `over`.

    Example: `%y, %rstd = ptl.rms_norm %x over embed eps 1.0e-05 : tensor<4x8xf32, ...> -> (tensor<4x8xf32, ...>, tensor<4xf32, ...>)`
  }];
  let arguments = (ins Ptl_Tensor:$x, StrAttr:$over, F64Attr:$eps);
  let results = (outs Ptl_Tensor:$y, Ptl_Tensor:$rstd);
  let assemblyFormat = [{
    $x `over` custom<DimName>($over) `eps` custom<Number>($eps) attr-dict `:` functional-type(operands, results)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$x, "::mlir::StringAttr":$over, "double":$eps)>];
}

def Ptl_RmsNormGradOp : Ptl_PlainOp<"rms_norm_grad", [Ptl_Composite]> {
  let summary = "rstd * (dy - xhat * mean(dy * xhat))";
  let description = [{
    xhat is x * rstd; the mean is along `over`.

    * (C1) `over` is a dimension of dy and x.
    * (C2) dy, x and dx are of one float type; rstd lacks `over`.

    Example: `%dx = ptl.rms_norm_grad %dy, %x, %rstd over embed : (...) -> tensor<4x8xf32, ...>`
  }];
  let arguments = (ins Ptl_Tensor:$dy, Ptl_Tensor:$x, Ptl_Tensor:$rstd, StrAttr:$over);
  let results = (outs Ptl_Tensor:$dx);
  let assemblyFormat = [{
    $dy `,` $x `,` $rstd `over` custom<DimName>($over) attr-dict `:` functional-type(operands, $dx)
  }];
}

def Ptl_CrossEntropyOp : Ptl_MathOp<"cross_entropy", [Ptl_Composite]> {
  let summary = "log(sum(exp(logits))) - logits[target], one value per target";
  let description = [{
    Never reduces. A target equal to `ignore` has loss 0. Returns the log of the
    sum of exponentials, too, for the gradient.

    * (C1) `over` is a dimension of the logits and not of the targets.
    * (C2) targets are i32 and have the logits' other dimensions, in any order.
    * (C3) results have the dimensions of the targets and the logits' element type.

    Example: `%loss, %lse = ptl.cross_entropy %z, %t over vocab ignore -1 : (tensor<4x50xf32, ...>, tensor<4xi32, ...>) -> (tensor<4xf32, ...>, tensor<4xf32, ...>)`
  }];
  let arguments = (ins Ptl_Tensor:$logits, Ptl_Tensor:$targets, StrAttr:$over, OptionalAttr<I64Attr>:$ignore);
  let results = (outs Ptl_Tensor:$loss, Ptl_Tensor:$lse);
  let assemblyFormat = [{
    $logits `,` $targets `over` custom<DimName>($over) (`ignore` $ignore^)? attr-dict `:` functional-type(operands, results)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$logits, "::mlir::Value":$targets, "::mlir::StringAttr":$over, "std::optional<int64_t>":$ignore)>];
}

def Ptl_CrossEntropyGradOp : Ptl_PlainOp<"cross_entropy_grad", [Ptl_Composite]> {
  let summary = "dloss * (exp(logits - lse) - one_hot(target)), 0 where ignored";
  let description = [{
    * (C1) `over` is a dimension of the logits and not of the targets.
    * (C2) targets are i32 and have the logits' other dimensions, in any order.
    * (C3) dloss and lse have the dimensions of the targets, dlogits the logits' type.

    Example: `%dz = ptl.cross_entropy_grad %dloss, %z, %t, %lse over vocab : (...) -> tensor<4x50xf32, ...>`
  }];
  let arguments = (ins Ptl_Tensor:$dloss, Ptl_Tensor:$logits, Ptl_Tensor:$targets, Ptl_Tensor:$lse, StrAttr:$over, OptionalAttr<I64Attr>:$ignore);
  let results = (outs Ptl_Tensor:$dlogits);
  let assemblyFormat = [{
    $dloss `,` $logits `,` $targets `,` $lse `over` custom<DimName>($over) (`ignore` $ignore^)? attr-dict
    `:` functional-type(operands, $dlogits)
  }];
}

#endif // PTLC_DIALECTS_PTL_PTLCOMPOSITEOPS_TD
