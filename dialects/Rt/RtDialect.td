//===- RtDialect.td - What one rank executes -------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_RT_RTDIALECT_TD
#define PTLC_DIALECTS_RT_RTDIALECT_TD

include "mlir/IR/OpBase.td"

def Rt_Dialect : Dialect {
  let name = "rt";
  let summary = "Kernels and buffers of one rank";
  let cppNamespace = "::ptlc::rt";
  let dependentDialects = ["::ptlc::ptl::PtlDialect"];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
}

#endif // PTLC_DIALECTS_RT_RTDIALECT_TD
