//===- PtlOps.td - Operations of the ptl dialect ---------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_PTL_PTLOPS_TD
#define PTLC_DIALECTS_PTL_PTLOPS_TD

include "dialects/Ptl/PtlElementwiseOps.td"
include "dialects/Ptl/PtlShapeOps.td"
include "dialects/Ptl/PtlReductionOps.td"
include "dialects/Ptl/PtlCompositeOps.td"
include "dialects/Ptl/PtlAttentionOps.td"
include "dialects/Ptl/PtlTrainOps.td"

#endif // PTLC_DIALECTS_PTL_PTLOPS_TD
