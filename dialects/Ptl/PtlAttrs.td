//===- PtlAttrs.td - Attributes of the ptl dialect -------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_PTL_PTLATTRS_TD
#define PTLC_DIALECTS_PTL_PTLATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/TensorEncoding.td"
include "dialects/Ptl/PtlDialect.td"
include "dialects/Ptl/PtlEnums.td"

class Ptl_Attr<string name, string attrMnemonic, list<Trait> traits = []> : AttrDef<Ptl_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Ptl_DimsAttr : Ptl_Attr<"Dims", "dims", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "Names of dimensions, in the order of the layout";
  let description = [{
    The encoding of every tensor type of rank 1 or more, and the value of
    attributes that list dimensions. A name that is no bare identifier is quoted.

    Example: `#ptl.dims<[batch, "llama.seq"]>`
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names);
  let builders = [
    AttrBuilder<(ins "::llvm::ArrayRef<::llvm::StringRef>":$names)>
  ];
  let extraClassDeclaration = [{
    bool contains(::llvm::StringRef name) const;
    size_t size() const { return getNames().size(); }
  }];
  let hasCustomAssemblyFormat = 1;
}

def Ptl_ArrowAttr : Ptl_Attr<"Arrow", "arrow"> {
  let summary = "Dimensions that become others by splitting, merging or renaming";
  let description = [{
    Elements keep their order: the row-major index over `from` is the one over
    `to`. In both lists the first name is the major one.

    Example: `#ptl.arrow<[embed] -> [heads, hdim]>`
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$from, ArrayRefParameter<"::mlir::StringAttr">:$to);
  let hasCustomAssemblyFormat = 1;
}
def Ptl_ArrowArrayAttr : TypedArrayAttrBase<Ptl_ArrowAttr, "array of arrows">;

// Stored as integers, written as keywords.
defvar Ptl_ElementwiseKindAttr = Ptl_ElementwiseKind;
defvar Ptl_FoldKindAttr = Ptl_FoldKind;
defvar Ptl_RandomKindAttr = Ptl_RandomKind;
defvar Ptl_OptimizerKindAttr = Ptl_OptimizerKind;

#endif // PTLC_DIALECTS_PTL_PTLATTRS_TD
