//===- SpmdOps.td - Meshes and collectives ---------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_SPMD_SPMDOPS_TD
#define PTLC_DIALECTS_SPMD_SPMDOPS_TD

include "dialects/Interfaces/Differentiable.td"
include "dialects/Interfaces/ShardingRule.td"
include "dialects/Ptl/PtlAttrs.td"
include "dialects/Spmd/SpmdAttrs.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Spmd_Op<string mnemonic, list<Trait> traits = []> : Op<Spmd_Dialect, mnemonic, traits> {
  let hasVerifier = 1;
}

/// A collective over axes of a mesh. It is `Pure` in the SPMD sense: a pass that moves or erases it must
/// do so on all ranks alike. `reason` says why it exists, for the ledger.
class Spmd_Collective<string mnemonic, list<Trait> traits = []>
    : Spmd_Op<mnemonic, !listconcat([Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>], traits)>;

def Spmd_MeshOp : Spmd_Op<"mesh", [Symbol]> {
  let summary = "A mesh of devices with named axes";
  let description = [{
    A device's rank is the mixed radix number of its coordinates, first axis major.

    * (C1) axis names are different, sizes at least 1.
    * (C2) links cost at least 1.

    Example: `spmd.mesh @mesh [dp = 2, tp = 2]`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypedArrayAttrBase<Spmd_AxisAttr, "array of axes">:$axes);
  let assemblyFormat = "$sym_name custom<MeshAxes>($axes) attr-dict";
  let extraClassDeclaration = [{
    auto getAxisRange() { return getAxes().getAsRange<AxisAttr>(); }
    /// Returns the size of axis `name`, or nullopt.
    std::optional<int64_t> getAxisSize(::llvm::StringRef name);
    /// Returns the number of devices.
    int64_t getDeviceCount();
  }];
}

def Spmd_AllReduceOp : Spmd_Collective<"all_reduce"> {
  let summary = "Folds tensors element-wise across mesh axes";
  let description = [{
    Every device of a group gets the fold of what its members hold, in order of
    their rank.

    * (C1) `axes` isn't empty and names no axis twice.
    * (C2) `mesh` refers to a `spmd.mesh` that has every axis of `axes`.
    * (C3) results have the types of the operands.
    * (C4) `members`, the ledger of a merged collective, has an entry for each operand.

    Example: `%g = spmd.all_reduce sum %dw over @mesh [dp] : tensor<64x32xf32, ...>`
  }];
  let arguments = (ins Ptl_FoldKindAttr:$kind, Variadic<Ptl_Tensor>:$inputs, FlatSymbolRefAttr:$mesh, Spmd_AxesAttr:$axes,
                       OptionalAttr<StrAttr>:$reason, OptionalAttr<Spmd_MemberArrayAttr>:$members);
  let results = (outs Variadic<Ptl_Tensor>:$outputs);
  let assemblyFormat = "$kind $inputs `over` $mesh custom<AxisList>($axes) (`reason` $reason^)? attr-dict `:` type($inputs) `->` type($outputs)";
}

class Spmd_DimCollective<string mnemonic> : Spmd_Collective<mnemonic> {
  let results = (outs Ptl_Tensor:$result);
}

def Spmd_AllGatherOp : Spmd_DimCollective<"all_gather"> {
  let summary = "Joins the shards of a dimension";
  let description = [{
    Removes the minor axes `axes` from `dim`. The result's size is that of the block
    which these axes divide (by nested ceil); padding of inner blocks is dropped.

    * (C1) `axes` isn't empty and names no axis twice.
    * (C2) `mesh` refers to a `spmd.mesh` that has every axis of `axes`.
    * (C3) the result's `dim`, divided by `axes`, has the operand's size; all else is equal.

    Example: `%y = spmd.all_gather %x along seq over @mesh [tp] : tensor<4xf32, ...> -> tensor<8xf32, ...>`
  }];
  let arguments = (ins Ptl_Tensor:$x, StrAttr:$dim, FlatSymbolRefAttr:$mesh, Spmd_AxesAttr:$axes, OptionalAttr<StrAttr>:$reason);
  let assemblyFormat = "$x `along` custom<DimName>($dim) `over` $mesh custom<AxisList>($axes) (`reason` $reason^)? attr-dict `:` type($x) `->` type($result)";
}

def Spmd_ReduceScatterOp : Spmd_DimCollective<"reduce_scatter"> {
  let summary = "Folds across axes and leaves each device its shard of the result";
  let description = [{
    Appends `axes` to `dim`.

    * (C1) `axes` isn't empty and names no axis twice.
    * (C2) `mesh` refers to a `spmd.mesh` that has every axis of `axes`.
    * (C3) the operand's `dim`, divided by `axes`, has the result's size; all else is equal.

    Example: `%y = spmd.reduce_scatter sum %x along seq over @mesh [tp] : tensor<8xf32, ...> -> tensor<4xf32, ...>`
  }];
  let arguments = (ins Ptl_FoldKindAttr:$kind, Ptl_Tensor:$x, StrAttr:$dim, FlatSymbolRefAttr:$mesh, Spmd_AxesAttr:$axes, OptionalAttr<StrAttr>:$reason);
  let assemblyFormat = "$kind $x `along` custom<DimName>($dim) `over` $mesh custom<AxisList>($axes) (`reason` $reason^)? attr-dict `:` type($x) `->` type($result)";
}

def Spmd_AllToAllOp : Spmd_DimCollective<"all_to_all"> {
  let summary = "Moves axes from one dimension to another";
  let description = [{
    Removes the minor axes `axes` from `from` and appends them to `to`.

    * (C1) `axes` isn't empty and names no axis twice.
    * (C2) `mesh` refers to a `spmd.mesh` that has every axis of `axes`.
    * (C3) `from` and `to` are two dimensions of the operand; the operand's size of `from` is the
           result's divided by `axes`, the result's size of `to` the operand's divided by `axes`.

    Example: `%y = spmd.all_to_all %x from seq to heads over @mesh [tp] : tensor<4x8xf32, ...> -> tensor<8x4xf32, ...>`
  }];
  let arguments = (ins Ptl_Tensor:$x, StrAttr:$from, StrAttr:$to, FlatSymbolRefAttr:$mesh, Spmd_AxesAttr:$axes, OptionalAttr<StrAttr>:$reason);
  let assemblyFormat = "$x `from` custom<DimName>($from) `to` custom<DimName>($to) `over` $mesh custom<AxisList>($axes) (`reason` $reason^)? attr-dict `:` type($x) `->` type($result)";
}

def Spmd_PermuteOp : Spmd_DimCollective<"permute"> {
  let summary = "Hands whole shards on to other devices";
  let description = [{
    Each device gets the buffer of one that has, under the axes of `from`, the shard
    which it should have under those of `to`. The shards are the same in both.

    * (C1) `axes` isn't empty and names no axis twice.
    * (C2) `mesh` refers to a `spmd.mesh` that has every axis of `axes`, `from` and `to`.
    * (C3) operand and result have one type.
    * (C4) `from` and `to` have a list for each dimension, neither is partial, and the two lists of a dimension
           are of equal length and make equally many shards.
    * (C5) `axes` are those of which a device and the one that it receives from may have different coordinates.
    * (C6) the axes that are only in `from` have the sizes of those that are only in `to`.

    Example: `%y = spmd.permute %x from <[[dp], [tp]]> to <[[tp], [dp]]> over @mesh [dp, tp] : tensor<4x4xf32, ...> -> tensor<4x4xf32, ...>`
  }];
  let arguments = (ins Ptl_Tensor:$x, Spmd_ShardingAttr:$from, Spmd_ShardingAttr:$to, FlatSymbolRefAttr:$mesh, Spmd_AxesAttr:$axes,
                       OptionalAttr<StrAttr>:$reason);
  let assemblyFormat = "$x `from` $from `to` $to `over` $mesh custom<AxisList>($axes) (`reason` $reason^)? attr-dict `:` type($x) `->` type($result)";
  let extraClassDeclaration = [{
    /// Returns for each device of a group, in the order of `axes`, the place of the one that it receives from.
    /// Every device sends to exactly one.
    ::llvm::SmallVector<int64_t> getSources(MeshOp mesh);
  }];
}

def Spmd_SliceOp : Spmd_DimCollective<"slice"> {
  let summary = "Keeps this device's shard of a dimension; sends nothing";
  let description = [{
    Appends `axes` to `dim`; pads to whole blocks at each level.

    * (C1) `axes` isn't empty and names no axis twice.
    * (C2) `mesh` refers to a `spmd.mesh` that has every axis of `axes`.
    * (C3) the operand's `dim`, divided by `axes`, has the result's size; all else is equal.

    Example: `%y = spmd.slice %x along seq over @mesh [tp] : tensor<8xf32, ...> -> tensor<4xf32, ...>`
  }];
  let arguments = (ins Ptl_Tensor:$x, StrAttr:$dim, FlatSymbolRefAttr:$mesh, Spmd_AxesAttr:$axes, OptionalAttr<StrAttr>:$reason);
  let assemblyFormat = "$x `along` custom<DimName>($dim) `over` $mesh custom<AxisList>($axes) (`reason` $reason^)? attr-dict `:` type($x) `->` type($result)";
}

def Spmd_KeepOp : Spmd_DimCollective<"keep"> {
  let summary = "Keeps a replicated value on the first device of each group, zeros elsewhere";
  let description = [{
    The result is pending over `axes`; nothing is sent.

    * (C1) `axes` isn't empty and names no axis twice.
    * (C2) `mesh` refers to a `spmd.mesh` that has every axis of `axes`.
    * (C3) operand and result have one type.

    Example: `%y = spmd.keep %x over @mesh [tp] : tensor<8xf32, ...> -> tensor<8xf32, ...>`
  }];
  let arguments = (ins Ptl_Tensor:$x, FlatSymbolRefAttr:$mesh, Spmd_AxesAttr:$axes);
  let assemblyFormat = "$x `over` $mesh custom<AxisList>($axes) attr-dict `:` type($x) `->` type($result)";
}

def Spmd_ConstrainOp : Spmd_Op<"constrain", [Pure, AllTypesMatch<["x", "result"]>, DeclareOpInterfaceMethods<ShardingRuleInterface>,
                                              DeclareOpInterfaceMethods<DifferentiableInterface>]> {
  let summary = "The operand, which directives of the plan speak of";
  let description = [{
    Only in global programs: a value that `in:`, `between:` or advice names. `by` are
    places in the list `shard` of `ptl.plan`. Gradients that flow through it are
    constrained alike. `held`: the value is moved to its sharding as soon as it is
    made; else it may stay pending.

    * (C1) operand and result have one type.
    * (C2) `by` isn't empty and has no negative places.

    Example: `%y = spmd.constrain %x by [1] held : tensor<8xf32, ...>`
  }];
  let arguments = (ins Ptl_Tensor:$x, DenseI64ArrayAttr:$by, UnitAttr:$held);
  let results = (outs Ptl_Tensor:$result);
  let assemblyFormat = "$x `by` $by (`held` $held^)? attr-dict `:` type($x)";
  let builders = [OpBuilder<(ins "::mlir::Value":$x, "::llvm::ArrayRef<int64_t>":$by, "bool":$held), [{
    build($_builder, $_state, x.getType(), x, $_builder.getDenseI64ArrayAttr(by), held);
  }]>];
}

def Spmd_MaskOp : Spmd_Collective<"mask", [DeclareOpInterfaceMethods<ShardingRuleInterface>]> {
  let summary = "Replaces padding by a number";
  let description = [{
    Elements beyond the valid part of a cut dimension become `fill`; others stay. It
    occurs in global programs, too, where the only cuts are into micro-batches;
    there needn't be a mesh yet.

    * (C1) operand and result have one type.
    * (C2) the operand has every dimension of `cuts`, and there is at least one.
    * (C3) if a cut has axes, `mesh` refers to a `spmd.mesh` that has them.

    Example: `%y = spmd.mask %x fill 0 cuts <[batch global 5 axes [dp]]> on @mesh : tensor<3xf32, ...> -> tensor<3xf32, ...>`
  }];
  let arguments = (ins Ptl_Tensor:$x, F64Attr:$fill, Spmd_CutsAttr:$cuts, FlatSymbolRefAttr:$mesh);
  let results = (outs Ptl_Tensor:$result);
  let assemblyFormat = "$x `fill` custom<Number>($fill) `cuts` $cuts `on` $mesh attr-dict `:` type($x) `->` type($result)";
}

include "dialects/Spmd/SpmdBucketOps.td"

#endif // PTLC_DIALECTS_SPMD_SPMDOPS_TD
