//===- SpmdAttrs.td - Shardings and cuts -----------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_SPMD_SPMDATTRS_TD
#define PTLC_DIALECTS_SPMD_SPMDATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "dialects/Ptl/PtlAttrs.td"
include "dialects/Spmd/SpmdDialect.td"

class Spmd_Attr<string name, string attrMnemonic> : AttrDef<Spmd_Dialect, name> {
  let mnemonic = attrMnemonic;
  let hasCustomAssemblyFormat = 1;
}

def Spmd_AxisAttr : Spmd_Attr<"Axis", "axis"> {
  let summary = "A mesh axis with its size and link class";
  let description = [{
    `link` is what a byte costs between ranks that differ on the axis, 1 being the
    fastest link of the mesh, and 1 if it isn't said.

    Example: `#spmd.axis<dp = 2 link 18.0>`
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$size, OptionalParameter<"::mlir::FloatAttr">:$link);
  let extraClassDeclaration = [{
    double getByteCost() const { return getLink() ? getLink().getValueAsDouble() : 1; }
  }];
}

def Spmd_AxesAttr : Spmd_Attr<"Axes", "axes"> {
  let summary = "An ordered list of mesh axes, major first";
  let description = [{ Example: `#spmd.axes<[dp, tp]>` }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names);
}

def Spmd_ShardingAttr : Spmd_Attr<"Sharding", "sharding"> {
  let summary = "How a value lies on the mesh";
  let description = [{
    Per dimension the axes that cut it, major first, and the axes over which the
    value is pending: the fold, by one kind, of what the devices hold. An axis in
    neither is replicated.

    * (C1) an axis occurs at most once in all of it.

    Example: `#spmd.sharding<[[dp], [], [tp]] partial sum [cp]>`
  }];
  let parameters = (ins ArrayRefParameter<"::ptlc::spmd::AxesAttr">:$dims,
                        ArrayRefParameter<"::mlir::StringAttr">:$partial, "::ptlc::ptl::FoldKind":$kind);
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns the sharding of a value of `rank` that is the same on all devices.
    static ShardingAttr getReplicated(::mlir::MLIRContext *context, unsigned rank);
    /// Returns the axes that cut dimension `dim`, major first.
    ::llvm::ArrayRef<::mlir::StringAttr> getAxes(unsigned dim) const { return getDims()[dim].getNames(); }
    bool isPartial() const { return !getPartial().empty(); }
    /// Returns whether no axis occurs.
    bool isReplicated() const;
  }];
}
def Spmd_ShardingArrayAttr : TypedArrayAttrBase<Spmd_ShardingAttr, "array of shardings">;

def Spmd_CutAttr : Spmd_Attr<"Cut", "cut"> {
  let summary = "How one dimension of a value is divided";
  let description = [{
    The dimension has `global` elements. Micro-batches divide it first, into `micro`
    pieces (1: not at all), then the axes, major first, then `rt.chunks` into `chunks`
    pieces, all by nested ceil. Local element i of device (c1, c2, ..) in micro-batch k
    is the global element k * b0 + c1 * b1 + .. + i, where b0 = ceil(global / micro)
    and each b is the ceil of the one before by the size of its axis.

    Example: `#spmd.cut<batch global 16 axes [dp] micro 2>`
  }];
  let parameters = (ins "::mlir::StringAttr":$dim, "int64_t":$global,
                        ArrayRefParameter<"::mlir::StringAttr">:$axes, "int64_t":$micro,
                        DefaultValuedParameter<"int64_t", "1">:$chunks);
}
def Spmd_CutsAttr : Spmd_Attr<"Cuts", "cuts"> {
  let summary = "The divided dimensions of a value";
  let description = [{ Example: `#spmd.cuts<[batch global 16 axes [dp] micro 2, seq global 8 axes [cp]]>` }];
  let parameters = (ins ArrayRefParameter<"::ptlc::spmd::CutAttr">:$cuts);
  let extraClassDeclaration = [{
    /// Returns the cut of `dim`, null if it isn't divided.
    CutAttr find(::llvm::StringRef dim) const;
  }];
}

def Spmd_MemberAttr : Spmd_Attr<"Member", "member"> {
  let summary = "Why one of several values travels in a collective";
  let description = [{
    The place of the .ptl expression that made a collective necessary, the reason, and
    what would have been dearer, if anything else was weighed.

    Example: `#spmd.member<"model.ptl:31:12" because "'ptl.dot' folds 'batch'">`
  }];
  let parameters = (ins "::mlir::StringAttr":$line, "::mlir::StringAttr":$reason, OptionalParameter<"::mlir::StringAttr">:$instead);
  let hasCustomAssemblyFormat = 0;
  let assemblyFormat = "`<` $line `because` $reason (`instead` `of` $instead^)? `>`";
}
def Spmd_MemberArrayAttr : TypedArrayAttrBase<Spmd_MemberAttr, "array of members">;

#endif // PTLC_DIALECTS_SPMD_SPMDATTRS_TD
