//===- PtlShapeOps.td - Operations that move elements ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_PTL_PTLSHAPEOPS_TD
#define PTLC_DIALECTS_PTL_PTLSHAPEOPS_TD

include "dialects/Ptl/PtlBase.td"

def Ptl_BroadcastOp : Ptl_MathOp<"broadcast"> {
  let summary = "Repeats along new dimensions, reorders the others";
  let description = [{
    The result has all dimensions of the operand, in any order, and any others. So
    it is the transpose, too.

    * (C1) the result has every dimension of the operand, with the same size.
    * (C2) the element types are equal.

    Example: `%y = ptl.broadcast %x : tensor<f32> -> tensor<4xf32, #ptl.dims<[seq]>>`
  }];
  let arguments = (ins Ptl_Tensor:$x);
  let results = (outs Ptl_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$x, "::mlir::Type":$type), [{ build($_builder, $_state, type, x); }]>];
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Ptl_ReshapeOp : Ptl_MathOp<"reshape"> {
  let summary = "Splits, merges and renames dimensions";
  let description = [{
    Each arrow replaces the dimensions `from` by `to`, which stand where the first
    name of `from` stood; row-major order over `from` equals that over `to`. `from`
    needn't be adjacent. All other dimensions pass.

    * (C1) `from` are dimensions of the operand and no dimension is in two arrows.
    * (C2) the sizes of an arrow's sides have one product.
    * (C3) the result has the dimensions that the arrows say.

    Example: `%y = ptl.reshape %x [[embed] -> [heads, hdim]] : tensor<8xf32, ...> -> tensor<2x4xf32, ...>`
  }];
  let arguments = (ins Ptl_Tensor:$x, Ptl_ArrowArrayAttr:$arrows);
  let results = (outs Ptl_Tensor:$result);
  let assemblyFormat = "$x custom<Arrows>($arrows) attr-dict `:` type($x) `->` type($result)";
  let builders = [
    // `sizes` gives those of all `to`, arrow by arrow.
    OpBuilder<(ins "::mlir::Value":$x, "::llvm::ArrayRef<ArrowAttr>":$arrows, "::llvm::ArrayRef<int64_t>":$sizes)>,
    // One dimension gets another name.
    OpBuilder<(ins "::mlir::Value":$x, "::mlir::StringAttr":$from, "::mlir::StringAttr":$to)>
  ];
  let extraClassDeclaration = [{
    auto getArrowRange() { return getArrows().getAsRange<ArrowAttr>(); }
  }];
  let hasFolder = 1;
}

def Ptl_ConcatOp : Ptl_MathOp<"concat"> {
  let summary = "Joins tensors along one dimension";
  let description = [{
    Operand i lies along `from[i]`, in order; the result along `to`.

    * (C1) one name per operand, a dimension of it.
    * (C2) all other dimensions agree, in the same order; `to` stands in `from`'s place.
    * (C3) the size of `to` is the sum.

    Example: `%z = ptl.concat %a, %b [x, y] -> z : (tensor<2xf32, ...>, tensor<3xf32, ...>) -> tensor<5xf32, ...>`
  }];
  let arguments = (ins Variadic<Ptl_Tensor>:$operands, StrArrayAttr:$from, StrAttr:$to);
  let results = (outs Ptl_Tensor:$result);
  let assemblyFormat = [{
    $operands custom<DimNames>($from) `->` custom<DimName>($to) attr-dict `:` functional-type($operands, $result)
  }];
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$operands, "::llvm::ArrayRef<::mlir::StringAttr>":$from, "::mlir::StringAttr":$to)>];
}

def Ptl_SliceOp : Ptl_MathOp<"slice"> {
  let summary = "A range of one dimension, under another name";
  let description = [{
    Elements [offset, offset + size of `to`) of `from`.

    * (C1) `from` is a dimension of the operand.
    * (C2) the range lies within it.
    * (C3) `to` replaces `from` in the result; all else is equal.

    Example: `%y = ptl.slice %x seq -> last from 7 : tensor<8xf32, ...> -> tensor<1xf32, ...>`
  }];
  let arguments = (ins Ptl_Tensor:$x, StrAttr:$from, StrAttr:$to, I64Attr:$offset);
  let results = (outs Ptl_Tensor:$result);
  let assemblyFormat = [{
    $x custom<DimName>($from) `->` custom<DimName>($to) `from` $offset attr-dict `:` type($x) `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$x, "::mlir::StringAttr":$from, "::mlir::StringAttr":$to, "int64_t":$size, "int64_t":$offset)>];
}

def Ptl_PadOp : Ptl_MathOp<"pad"> {
  let summary = "Lengthens a dimension, under another name";
  let description = [{
    `offset` elements `value` before, as many as are missing after.

    * (C1) `from` is a dimension of the operand.
    * (C2) the operand fits into the result at `offset`.
    * (C3) `to` replaces `from` in the result; all else is equal.

    Example: `%y = ptl.pad %x seq -> longer before 1 value 0 : tensor<8xf32, ...> -> tensor<9xf32, ...>`
  }];
  let arguments = (ins Ptl_Tensor:$x, StrAttr:$from, StrAttr:$to, I64Attr:$offset, F64Attr:$value);
  let results = (outs Ptl_Tensor:$result);
  let assemblyFormat = [{
    $x custom<DimName>($from) `->` custom<DimName>($to) `before` $offset `value` custom<Number>($value)
    attr-dict `:` type($x) `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$x, "::mlir::StringAttr":$from, "::mlir::StringAttr":$to, "int64_t":$size, "int64_t":$offset, "double":$value)>];
}

def Ptl_GatherOp : Ptl_MathOp<"gather"> {
  let summary = "Looks up indices along one dimension";
  let description = [{
    The dimensions of `ids` stand in `dim`'s place; names that table and ids both
    have are aligned (and stay where ids have them). Ids are in range: the loader
    checks those of the data against the global size. Where `dim` is cut, an id of
    another device's rows gives 0, so that the sum over devices is the result.

    * (C1) `dim` is a dimension of the table and not of ids.
    * (C2) ids are i32; common dimensions have one size.
    * (C3) the result has the table's dimensions, with those of ids in the place of `dim`.

    Example: `%h = ptl.gather %wte[vocab : %tokens] : (tensor<50x8xf32, ...>, tensor<4x6xi32, ...>) -> tensor<4x6x8xf32, ...>`
  }];
  let arguments = (ins Ptl_Tensor:$table, Ptl_Tensor:$ids, StrAttr:$dim, OptionalAttr<AnyAttr>:$cut);
  let results = (outs Ptl_Tensor:$result);
  let assemblyFormat = [{
    $table `[` custom<DimName>($dim) `:` $ids `]` attr-dict
    `:` `(` type($table) `,` type($ids) `)` `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$table, "::mlir::Value":$ids, "::mlir::StringAttr":$dim)>];
}

def Ptl_ScatterAddOp : Ptl_MathOp<"scatter_add"> {
  let summary = "Adds rows to where indices say: the transpose of gather";
  let description = [{
    result[.., i, ..] = init + the sum of the updates whose id is i. Dimensions of
    ids that the result has are aligned; the others are summed. Updates are added
    in row-major order of the ids. The update of a negative id isn't added: ids of
    padding are made -1.

    * (C1) `dim` is a dimension of the result and not of ids or updates.
    * (C2) updates have every dimension of ids and of the result except `dim`, and no other.
    * (C3) ids are i32; `init` has the result's type.
    * (C4) the result isn't bf16, since each addition would be rounded.

    Example: `%g = ptl.scatter_add %tokens, %dh over vocab : (tensor<4x6xi32, ...>, tensor<4x6x8xf32, ...>) -> tensor<50x8xf32, ...>`
  }];
  let arguments = (ins Ptl_Tensor:$ids, Ptl_Tensor:$updates, Optional<Ptl_Tensor>:$init, StrAttr:$dim, OptionalAttr<AnyAttr>:$cut);
  let results = (outs Ptl_Tensor:$result);
  let assemblyFormat = [{
    $ids `,` $updates `over` custom<DimName>($dim) (`into` $init^)? attr-dict
    `:` functional-type(operands, $result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$ids, "::mlir::Value":$updates, "::mlir::StringAttr":$dim, CArg<"::mlir::Value", "{}">:$init)>];
}

#endif // PTLC_DIALECTS_PTL_PTLSHAPEOPS_TD
