//===- Ops.cpp - Operation classes of the ptl dialect ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Holds the generated code alone: it takes longest to compile and changes least.
//===----------------------------------------------------------------------===//
#include "dialects/Ptl/Ptl.h"
#include "dialects/Ptl/Syntax.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/Ptl/PtlOps.cpp.inc"
