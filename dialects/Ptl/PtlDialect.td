//===- PtlDialect.td - The global training program -------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_PTL_PTLDIALECT_TD
#define PTLC_DIALECTS_PTL_PTLDIALECT_TD

include "mlir/IR/OpBase.td"

def Ptl_Dialect : Dialect {
  let name = "ptl";
  let summary = "One training step on named dimensions, seen by all devices at once";
  let description = [{
    Values are static builtin tensors whose encoding `#ptl.dims<[...]>` names each
    dimension; operations align, contract and reduce by name. A tensor of rank 0
    has no encoding.
  }];
  let cppNamespace = "::ptlc::ptl";
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
}

/// A static tensor of f32, f64, i32, i64 or i1 whose dimensions have different names.
def Ptl_Tensor : Type<CPred<"::ptlc::ptl::isNamedTensor($_self)">,
                      "static tensor of a number type whose dimensions have different names",
                      "::mlir::RankedTensorType">;

class Ptl_Op<string mnemonic, list<Trait> traits = []> : Op<Ptl_Dialect, mnemonic, traits>;

#endif // PTLC_DIALECTS_PTL_PTLDIALECT_TD
