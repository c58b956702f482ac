//===- Dialect.cpp - Registration of the ptl dialect ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Ptl/Ptl.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "dialects/Ptl/PtlDialect.cpp.inc"
#include "dialects/Ptl/PtlEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Ptl/PtlAttrs.cpp.inc"

using namespace ptlc;

void ptl::PtlDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Ptl/PtlAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Ptl/PtlOps.cpp.inc"
      >();
}
