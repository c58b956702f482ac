//===- Dialect.cpp - Registration of the spmd dialect ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Spmd/Spmd.h"
#include "dialects/Spmd/Syntax.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "dialects/Spmd/SpmdDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Spmd/SpmdAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Spmd/SpmdOps.cpp.inc"

using namespace ptlc;

void spmd::SpmdDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Spmd/SpmdAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Spmd/SpmdOps.cpp.inc"
      >();
}
