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

def Rt_ChunksOp : Op<Rt_Dialect, "chunks", [RecursiveMemoryEffects, SingleBlock]> {
  let summary = "Kernels that run on one piece of their rows after the other";
  let description = [{
    Runs the body for k = 0 .. pieces-1, so that what lies between its kernels exists
    for one piece at a time. The body sees outer values; `ptl.microbatch` takes piece
    k of one. A returned value that has `dim` is piece k of the result, the result of
    any other is the sum, k ascending.
    Made by: Fuse.

    * (C1) `pieces` is at least 1.
    * (C2) the body has one argument of type index.
    * (C3) a returned value that has `dim` has 1/pieces of the result's size of it and
      is of the same type otherwise; no dimension before it is larger than 1. All
      others have the result's type.

    Example:
    ```
    %y, %s = rt.chunks 2 along batch (%k) -> tensor<4x3xf32, ...>, tensor<3xf32, ...> {
      %p = ptl.microbatch %x[%k] of 2 along batch : ...
      ...
      rt.return %a, %b : tensor<2x3xf32, ...>, tensor<3xf32, ...>
    }
    ```
  }];
  let arguments = (ins I64Attr:$pieces, StrAttr:$dim);
  let results = (outs Variadic<Ptl_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let builders = [
    // Creates the body's block with its argument; the caller adds operations and rt.return.
    OpBuilder<(ins "::mlir::TypeRange":$types, "int64_t":$pieces, "::mlir::StringAttr":$dim)>
  ];
  let extraClassDeclaration = [{
    ::mlir::Value getPiece() { return getBody().getArgument(0); }
    /// True if result `number` consists of pieces, false if it is a sum.
    bool isStacked(unsigned number) { return ptl::hasDim(getResult(number), getDim()); }
  }];
}

def Rt_OptimizationBarrierOp : Op<Rt_Dialect, "optimization_barrier", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "The operand, apart from all else that is computed from it";
  let description = [{
    What is computed again in the backward reads kept values through barriers. Its
    operations have other operands than those of the forward, so that neither folding
    nor fusion unites them and makes the forward's results live on. `segment` says what
    is computed again; barriers of two segments are never one. Kernels make it needless:
    `fuse-outline-single` takes it away.
    Made by: Memory (`memory-recompute`).

    Example: `%y = rt.optimization_barrier "blocks.3" %x : tensor<4xf32, ...>`
  }];
  let arguments = (ins StrAttr:$segment, Ptl_Tensor:$x);
  let results = (outs Ptl_Tensor:$result);
  let assemblyFormat = "$segment $x attr-dict `:` type($x)";
}

def Rt_ReturnOp : Op<Rt_Dialect, "return", [Pure, Terminator, ReturnLike, ParentOneOf<["KernelOp", "ChunksOp"]>]> {
  let summary = "Ends a kernel or a piece";
  let description = [{ Example: `rt.return %b : tensor<4xf32, ...>` }];
  let arguments = (ins Variadic<Ptl_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Rt_ReceiveOp : Op<Rt_Dialect, "receive"> {
  let summary = "Values of each micro-batch that another stage sends";
  let description = [{
    What arrives over an edge of the pipeline: the values, or (`gradient`) against its
    direction their gradients. `pool` is where they are kept (see `#rt.buffer`). When
    it happens is said by the table.
    Made by: Stage.

    Example: `%x = rt.receive edge 0 pool 0 : tensor<4x8xf32, ...>`
  }];
  let arguments = (ins I64Attr:$edge, I64Attr:$pool, UnitAttr:$gradient);
  let results = (outs Variadic<Ptl_Tensor>:$values);
  let assemblyFormat = "`edge` $edge `pool` $pool (`gradient` $gradient^)? attr-dict (`:` type($values)^)?";
}

def Rt_SendOp : Op<Rt_Dialect, "send"> {
  let summary = "Values of each micro-batch that go to another stage";
  let description = [{
    The other side of `rt.receive`. Made by: Stage.

    Example: `rt.send %y edge 0 : tensor<4x8xf32, ...>`
  }];
  let arguments = (ins Variadic<Ptl_Tensor>:$values, I64Attr:$edge, UnitAttr:$gradient);
  let assemblyFormat = "($values^)? `edge` $edge (`gradient` $gradient^)? attr-dict (`:` type($values)^)?";
}

def Rt_ExchangeOp : Op<Rt_Dialect, "exchange"> {
  let summary = "What two ranks of a pipeline give each other";
  let description = [{
    Gives `mine` to the rank at `peer` of the pipeline's axis, which gives its own: sums
    of a tied weight's gradients. In evaluation and sampling, where stages run one after
    the other, one side gives nothing. It waits until both are there, and both have their
    exchanges with each other in one order.
    Made by: Stage.

    Example: `%b = rt.exchange %a with 3 : (tensor<8xf32, ...>) -> tensor<8xf32, ...>`
  }];
  let arguments = (ins Variadic<Ptl_Tensor>:$mine, I64Attr:$peer);
  let results = (outs Variadic<Ptl_Tensor>:$theirs);
  let assemblyFormat = "($mine^)? `with` $peer attr-dict `:` functional-type($mine, $theirs)";
}

def Rt_WaitOp : Op<Rt_Dialect, "wait", [Pure, AttrSizedOperandSegments]> {
  let summary = "Finishes a collective that was only started";
  let description = [{
    A collective with the unit attribute `rt.started` begins where it stands and doesn't wait
    for other devices. What it makes is known behind its `rt.wait`, and its memory belongs to
    it until then: that of its results, and that of `kept`, which are operands that it reads and
    that the results don't lie on. All devices start, and wait, in the same order. One with the
    unit attribute `rt.in_last`, too, begins inside the last run of the loop whose results it
    reads (dialects/Rt/InLast.h).

    * (C1) `values` are all results, in order, of one started collective of the same block.
    * (C2) `kept` are operands of that collective.
    * (C3) results have the types of `values`.

    Made by: Comm.

    Example: `%w:2 = rt.wait %v#0, %v#1 keeps %p : tensor<19xf32, ...> : tensor<8x4xf32, ...>, tensor<6xf32, ...> -> tensor<8x4xf32, ...>, tensor<6xf32, ...>`
  }];
  let arguments = (ins Variadic<Ptl_Tensor>:$values, Variadic<Ptl_Tensor>:$kept);
  let results = (outs Variadic<Ptl_Tensor>:$results);
  let hasVerifier = 1;
  let assemblyFormat = "$values (`keeps` $kept^ `:` type($kept))? attr-dict `:` type($values) `->` type($results)";
  let extraClassDeclaration = [{
    /// The collective that this waits for.
    ::mlir::Operation *getCollective() { return getValues().front().getDefiningOp(); }
  }];
}

#endif // PTLC_DIALECTS_RT_RTOPS_TD
