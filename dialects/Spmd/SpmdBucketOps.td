//===- SpmdBucketOps.td - Values in buckets, split over ranks --*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A bucket is the concatenation of tensors, each row-major, in order. Cut over
// axes, the k-th device of a group has elements [k * part, (k + 1) * part) of it,
// where `part` is the size of the flat tensor; what lies beyond the end is junk.
// Included by SpmdOps.td, whose classes it uses.
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_SPMD_SPMDBUCKETOPS_TD
#define PTLC_DIALECTS_SPMD_SPMDBUCKETOPS_TD

def Spmd_BucketReduceScatterOp : Spmd_Collective<"bucket_reduce_scatter"> {
  let summary = "Folds the tensors of a bucket across axes and leaves each device its part";
  let description = [{
    * (C1) `axes` isn't empty and names no axis twice.
    * (C2) `mesh` refers to a `spmd.mesh` that has every axis of `axes`.
    * (C3) the result is flat, of the operands' type of elements; the parts of all devices of
           a group hold the bucket.
    * (C4) `members`, the ledger, has an entry for each operand.

    Made by: Zero.

    Example: `%p = spmd.bucket_reduce_scatter sum %g, %h over @mesh [dp] : tensor<8x4xf32, ...>, tensor<6xf32, ...> -> tensor<19xf32, ...>`
  }];
  let arguments = (ins Ptl_FoldKindAttr:$kind, Variadic<Ptl_Tensor>:$inputs, FlatSymbolRefAttr:$mesh, Spmd_AxesAttr:$axes,
                       OptionalAttr<StrAttr>:$reason, OptionalAttr<Spmd_MemberArrayAttr>:$members);
  let results = (outs Ptl_Tensor:$part);
  let assemblyFormat = "$kind $inputs `over` $mesh custom<AxisList>($axes) (`reason` $reason^)? attr-dict `:` type($inputs) `->` type($part)";
}

def Spmd_BucketSliceOp : Spmd_Collective<"bucket_slice"> {
  let summary = "Keeps this device's part of a bucket; sends nothing";
  let description = [{
    * (C1) `axes` isn't empty and names no axis twice.
    * (C2) `mesh` refers to a `spmd.mesh` that has every axis of `axes`.
    * (C3) the result is flat, of the operands' type of elements; the parts of all devices of
           a group hold the bucket.

    Made by: Zero.

    Example: `%p = spmd.bucket_slice %v, %w over @mesh [dp] : tensor<8x4xf32, ...>, tensor<6xf32, ...> -> tensor<19xf32, ...>`
  }];
  let arguments = (ins Variadic<Ptl_Tensor>:$inputs, FlatSymbolRefAttr:$mesh, Spmd_AxesAttr:$axes);
  let results = (outs Ptl_Tensor:$part);
  let assemblyFormat = "$inputs `over` $mesh custom<AxisList>($axes) attr-dict `:` type($inputs) `->` type($part)";
}

def Spmd_BucketAllGatherOp : Spmd_Collective<"bucket_all_gather"> {
  let summary = "Joins the parts of a bucket";
  let description = [{
    * (C1) `axes` isn't empty and names no axis twice.
    * (C2) `mesh` refers to a `spmd.mesh` that has every axis of `axes`.
    * (C3) the operand is flat, of the results' type of elements; the parts of all devices of
           a group hold the bucket.

    Made by: Zero.

    Example: `%v:2 = spmd.bucket_all_gather %p over @mesh [dp] : tensor<19xf32, ...> -> tensor<8x4xf32, ...>, tensor<6xf32, ...>`
  }];
  let arguments = (ins Ptl_Tensor:$part, FlatSymbolRefAttr:$mesh, Spmd_AxesAttr:$axes, OptionalAttr<StrAttr>:$reason);
  let results = (outs Variadic<Ptl_Tensor>:$outputs);
  let assemblyFormat = "$part `over` $mesh custom<AxisList>($axes) (`reason` $reason^)? attr-dict `:` type($part) `->` type($outputs)";
}

def Spmd_SquareSumOp : Spmd_Op<"square_sum", [Pure]> {
  let summary = "The sum of the squares of all elements, as a number that adds up without rounding";
  let description = [{
    Squares are added in f32 over pieces of each tensor that no cut of a bucket divides, and
    these sums exactly: the result, of twelve 64-bit integers, is a fixed-point number whose
    i-th digit counts 2^(32 i - 160), for i below 10, then how many sums were infinite and how
    many weren't numbers. So a `spmd.all_reduce sum` of it is exact, too, and the norm doesn't
    depend on how gradients are stored.

    `members` says, for an operand that is a part of a bucket, of what; it is empty for others.

    * (C1) the result is a flat tensor of 12 integers of 64 bits.
    * (C2) `members` has a list for each operand.

    Made by: Shard, Zero.

    Example: `%s = spmd.square_sum %p, %h members [[tensor<8x4xf32, ...>], []] : (tensor<19xf32, ...>, tensor<6xf32, ...>) -> tensor<12xi64, ...>`
  }];
  let arguments = (ins Variadic<Ptl_Tensor>:$inputs, TypedArrayAttrBase<TypeArrayAttr, "list of types for each operand">:$members);
  let results = (outs Ptl_Tensor:$sum);
  let assemblyFormat = "$inputs `members` $members attr-dict `:` functional-type($inputs, $sum)";
  let builders = [
    // `members` has a list of types for each input, or nothing if no input is a part of a bucket.
    OpBuilder<(ins "::mlir::ValueRange":$inputs, "::llvm::ArrayRef<::mlir::Attribute>":$members)>
  ];
}

def Spmd_RootOp : Spmd_Op<"root", [Pure]> {
  let summary = "The square root of a sum of results of `spmd.square_sum`";
  let description = [{
    * (C1) operands are flat tensors of 12 integers of 64 bits, the result a float scalar.

    Made by: Shard, Zero.

    Example: `%n = spmd.root %s, %t : (tensor<12xi64, ...>, tensor<12xi64, ...>) -> tensor<f32>`
  }];
  let arguments = (ins Variadic<Ptl_Tensor>:$sums);
  let results = (outs Ptl_Tensor:$result);
  let assemblyFormat = "$sums attr-dict `:` functional-type($sums, $result)";
}

#endif // PTLC_DIALECTS_SPMD_SPMDBUCKETOPS_TD
