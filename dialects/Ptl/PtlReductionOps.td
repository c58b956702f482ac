//===- PtlReductionOps.td - Contractions and reductions --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_PTL_PTLREDUCTIONOPS_TD
#define PTLC_DIALECTS_PTL_PTLREDUCTIONOPS_TD

include "dialects/Ptl/PtlBase.td"

def Ptl_DotOp : Ptl_MathOp<"dot"> {
  let summary = "Multiplies two tensors and sums over named dimensions";
  let description = [{
    An einsum by names: names that the operands share are aligned, those in `over`
    are summed (wherever they occur), all others are in the result, in any order.
    Sums are accumulated in f32 at least; of bf16 operands the result may stay f32.

    * (C1) every name of `over` is a dimension of an operand.
    * (C2) common dimensions have one size, and the element types are equal floats.
    * (C3) the result has exactly the dimensions that aren't summed.
    * (C4) the result has the operands' element type, or f32 where that is bf16.

    Example: `%y = ptl.dot %x, %w over [embed] : (tensor<4x8xf32, ...>, tensor<8x2xf32, ...>) -> tensor<4x2xf32, ...>`
  }];
  let arguments = (ins Ptl_Tensor:$lhs, Ptl_Tensor:$rhs, Ptl_DimsAttr:$over);
  let results = (outs Ptl_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `over` custom<Dims>($over) attr-dict `:` functional-type(operands, $result)
  }];
  let builders = [
    // Result dimensions: those of lhs, then those of rhs, without `over`.
    OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs, "::llvm::ArrayRef<::mlir::StringAttr>":$over)>,
    // Result dimensions in the order of `resultDims`.
    OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs, "::llvm::ArrayRef<::mlir::StringAttr>":$over, "::llvm::ArrayRef<::mlir::StringAttr>":$resultDims)>
  ];
}

def Ptl_ReduceOp : Ptl_MathOp<"reduce"> {
  let summary = "Folds dimensions by sum, max or min";
  let description = [{
    * (C1) every name of `over` is a dimension of the operand, named once.
    * (C2) the result has the other dimensions, in the operand's order.
    * (C3) the operand isn't i1, and not bf16 if it is added up: its sum would be rounded at each step.

    Example: `%s = ptl.reduce sum %x over [seq] : tensor<4x8xf32, ...> -> tensor<4xf32, ...>`
  }];
  let arguments = (ins Ptl_FoldKindAttr:$kind, Ptl_Tensor:$x, Ptl_DimsAttr:$over);
  let results = (outs Ptl_Tensor:$result);
  let assemblyFormat = "$kind $x `over` custom<Dims>($over) attr-dict `:` type($x) `->` type($result)";
  let builders = [OpBuilder<(ins "FoldKind":$kind, "::mlir::Value":$x, "::llvm::ArrayRef<::mlir::StringAttr>":$over)>];
  let hasFolder = 1;
}

def Ptl_ArgmaxOp : Ptl_MathOp<"argmax", [Ptl_Composite]> {
  let summary = "The index of the largest element; ties: the lowest";
  let description = [{
    * (C1) `over` is a dimension of the operand.
    * (C2) the result has the other dimensions, in the operand's order, and i32 elements.

    Example: `%i = ptl.argmax %x over vocab : tensor<4x50xf32, ...> -> tensor<4xi32, ...>`
  }];
  let arguments = (ins Ptl_Tensor:$x, StrAttr:$over);
  let results = (outs Ptl_Tensor:$result);
  let assemblyFormat = "$x `over` custom<DimName>($over) attr-dict `:` type($x) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$x, "::mlir::StringAttr":$over)>];
}

def Ptl_TopKOp : Ptl_MathOp<"top_k"> {
  let summary = "The largest elements along a dimension, with their indices";
  let description = [{
    Largest first; of equal elements the one with the lower index comes first.

    * (C1) `from` is a dimension of the operand and at least as long as `to`.
    * (C2) in both results `to` replaces `from`; indices are i32.

    Example: `%v, %i = ptl.top_k %x experts -> k : tensor<4x8xf32, ...> -> (tensor<4x2xf32, ...>, tensor<4x2xi32, ...>)`
  }];
  let arguments = (ins Ptl_Tensor:$x, StrAttr:$from, StrAttr:$to);
  let results = (outs Ptl_Tensor:$values, Ptl_Tensor:$indices);
  let assemblyFormat = [{
    $x custom<DimName>($from) `->` custom<DimName>($to) attr-dict
    `:` type($x) `->` `(` type($values) `,` type($indices) `)`
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$x, "::mlir::StringAttr":$from, "::mlir::StringAttr":$to, "int64_t":$size)>];
}

#endif // PTLC_DIALECTS_PTL_PTLREDUCTIONOPS_TD
