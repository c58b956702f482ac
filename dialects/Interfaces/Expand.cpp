//===- Expand.cpp - Composites as primitives ---===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Interfaces/Expand.h"

#include "dialects/Interfaces/Expand.cpp.inc"
