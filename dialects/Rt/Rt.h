//===- Rt.h - What one rank executes ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_RT_RT_H
#define PTLC_DIALECTS_RT_RT_H

#include "dialects/Ptl/Ptl.h"

#include "dialects/Rt/RtDialect.h.inc"
#include "dialects/Rt/RtEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Rt/RtAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Rt/RtOps.h.inc"

namespace ptlc::rt {

/// Of a collective, a unit: it is only started where it stands; its only user is a rt.wait.
inline constexpr llvm::StringLiteral kStarted = "rt.started";

} // namespace ptlc::rt

#endif // PTLC_DIALECTS_RT_RT_H
