//===- Ptl.h - The global training program ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_PTL_PTL_H
#define PTLC_DIALECTS_PTL_PTL_H

#include "dialects/Interfaces/Cost.h"
#include "dialects/Interfaces/Differentiable.h"
#include "dialects/Interfaces/Expand.h"
#include "dialects/Interfaces/ShardingRule.h"
#include "dialects/Ptl/Dims.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Ptl/PtlDialect.h.inc"
#include "dialects/Ptl/PtlEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Ptl/PtlAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Ptl/PtlOps.h.inc"

#endif // PTLC_DIALECTS_PTL_PTL_H
