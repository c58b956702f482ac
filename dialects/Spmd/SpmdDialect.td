//===- SpmdDialect.td - Meshes, shardings and collectives ------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_SPMD_SPMDDIALECT_TD
#define PTLC_DIALECTS_SPMD_SPMDDIALECT_TD

include "mlir/IR/OpBase.td"

def Spmd_Dialect : Dialect {
  let name = "spmd";
  let summary = "Meshes with named axes, shardings, and collectives over axes";
  let cppNamespace = "::ptlc::spmd";
  let dependentDialects = ["::ptlc::ptl::PtlDialect"];
  let useDefaultAttributePrinterParser = 1;
}

#endif // PTLC_DIALECTS_SPMD_SPMDDIALECT_TD
