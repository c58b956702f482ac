//===- RtOps.td - Kernels --------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_RT_RTOPS_TD
#define PTLC_DIALECTS_RT_RTOPS_TD

include "dialects/Ptl/PtlAttrs.td"
include "dialects/Rt/RtAttrs.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Rt_KernelOp : Op<Rt_Dialect, "kernel", [Pure, IsolatedFromAbove, SingleBlock]> {
  let summary = "Operations that run as one kernel";
  let description = [{
    The body computes the results from the operands, on whole tensors; its value is
    the kernel's meaning. `iterate` names the dimensions whose points are
    independent of each other (of a rows kernel: one row per point); a result that
    lacks some of them is a sum over them.
    Made by: Fuse.

    * (C1) the block's arguments have the types of the operands.
    * (C2) `rt.return` gives the results' types.
    * (C3) `iterate` names each dimension once.

    Example:
    ```
    %y = rt.kernel rows(%x) iterate [batch] : (tensor<4xf32, ...>) -> tensor<4xf32, ...> {
    ^bb0(%a: tensor<4xf32, ...>):
      ...
      rt.return %b : tensor<4xf32, ...>
    }
    ```
  }];
  let arguments = (ins Rt_KernelKindAttr:$kind, Variadic<Ptl_Tensor>:$inputs, Ptl_DimsAttr:$iterate);
  let results = (outs Variadic<Ptl_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $kind `(` $inputs `)` `iterate` custom<Dims>($iterate) attr-dict `:` functional-type($inputs, $outputs) $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let builders = [
    // Creates the body's block with arguments of the inputs' types; the caller fills it.
    OpBuilder<(ins "::mlir::TypeRange":$types, "KernelKind":$kind, "::mlir::ValueRange":$inputs, "::llvm::ArrayRef<::mlir::StringAttr>":$iterate)>
  ];
}

def Rt_ReturnOp : Op<Rt_Dialect, "return", [Pure, Terminator, ReturnLike, ParentOneOf<["KernelOp"]>]> {
  let summary = "Ends a kernel";
  let description = [{ Example: `rt.return %b : tensor<4xf32, ...>` }];
  let arguments = (ins Variadic<Ptl_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

#endif // PTLC_DIALECTS_RT_RTOPS_TD
