//===- PtlElementwiseOps.td - Sources and element-wise ops -----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_PTL_PTLELEMENTWISEOPS_TD
#define PTLC_DIALECTS_PTL_PTLELEMENTWISEOPS_TD

include "dialects/Ptl/PtlBase.td"

def Ptl_ConstantOp : Ptl_MathOp<"constant", [ConstantLike]> {
  let summary = "A tensor whose elements are all one number";
  let description = [{
    The number is written as it is meant, whatever the element type; for i1 it is
    0 or 1.
    Made by: Import, Grad, Shard.

    * (C1) the number is representable in an integer element type.

    Example: `%c = ptl.constant 0.5 : tensor<16xf32, #ptl.dims<[batch]>>`
  }];
  let arguments = (ins F64Attr:$value);
  let results = (outs Ptl_Tensor:$result);
  let assemblyFormat = "custom<Number>($value) attr-dict `:` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "double":$value)>];
  let hasFolder = 1;
}

def Ptl_IotaOp : Ptl_MathOp<"iota"> {
  let summary = "The index along a dimension";
  let description = [{
    Element i is i, in global terms: where the dimension is cut, `cut` says how the
    local index becomes global.
    Made by: Import, Grad, expansions.

    * (C1) the result is a rank-1 tensor of i32 or i64 along `dim`.

    Example: `%i = ptl.iota seq : tensor<8xi32, #ptl.dims<[seq]>>`
  }];
  let arguments = (ins StrAttr:$dim, OptionalAttr<AnyAttr>:$cut);
  let results = (outs Ptl_Tensor:$result);
  let assemblyFormat = "custom<DimName>($dim) attr-dict `:` type($result)";
  let builders = [OpBuilder<(ins "::mlir::StringAttr":$dim, "int64_t":$size)>];
}

def Ptl_RandomOp : Ptl_MathOp<"random"> {
  let summary = "Random numbers that depend on seed, place, step and global index";
  let description = [{
    Counter-based (Philox 4x32-10): the same numbers on every mesh. The counter is
    the row-major index in the global type as declared; `cut` says how local
    indices become global. uniform is in [0, 1), normal has mean 0 and deviation 1.
    Made by: Import.

    * (C1) the result is a float tensor.
    * (C2) `step` is a tensor<i64>.

    Example: `%u = ptl.random uniform place "blocks.0#1" step %step : tensor<16xf32, #ptl.dims<[batch]>>`
  }];
  let arguments = (ins Ptl_RandomKindAttr:$kind, StrAttr:$place, Ptl_Tensor:$step, OptionalAttr<AnyAttr>:$cut);
  let results = (outs Ptl_Tensor:$result);
  let assemblyFormat = [{
    $kind `place` $place `step` $step attr-dict `:` type($step) `->` type($result)
  }];
}

def Ptl_ElementwiseOp : Ptl_MathOp<"elementwise"> {
  let summary = "A function of elements at the same place";
  let description = [{
    Integer `div` rounds down and `mod` has the sign of the divisor. Comparisons
    give i1. `gelu` is the tanh form; `gelu_grad(x, dy)` and `silu_grad(x, dy)` are
    dy times the derivative at x. `select(c, a, b)` is a where c holds. `cast`
    converts between element types: float to integer truncates, anything to i1 is
    `!= 0`, i1 gives 0 or 1. The derivatives of relu and abs at 0 are 0; at a tie
    max and min give half to each operand.

    * (C1) the number of operands is that of `kind`.
    * (C2) operands have the result's shape and dimensions, in the same order.
    * (C3) element types fit `kind`.

    Example: `%z = ptl.elementwise add %x, %y : (tensor<f32>, tensor<f32>) -> tensor<f32>`
  }];
  let arguments = (ins Ptl_ElementwiseKindAttr:$kind, Variadic<Ptl_Tensor>:$operands);
  let results = (outs Ptl_Tensor:$result);
  let assemblyFormat = "$kind $operands attr-dict `:` functional-type($operands, $result)";
  let builders = [
    // The result's type follows from the operands; `cast` needs the builder with a type.
    OpBuilder<(ins "ElementwiseKind":$kind, "::mlir::ValueRange":$operands)>
  ];
  let extraClassDeclaration = [{
    /// Returns the number of operands that `kind` takes.
    static unsigned arity(ElementwiseKind kind);
    static bool isComparison(ElementwiseKind kind);
  }];
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Ptl_StopGradientOp : Ptl_MathOp<"stop_gradient"> {
  let summary = "The operand, with derivative zero";
  let description = [{
    * (C1) operand and result have one type.

    Example: `%y = ptl.stop_gradient %x : tensor<f32>`
  }];
  let arguments = (ins Ptl_Tensor:$x);
  let results = (outs Ptl_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$x), [{ build($_builder, $_state, x.getType(), x); }]>];
}

#endif // PTLC_DIALECTS_PTL_PTLELEMENTWISEOPS_TD
