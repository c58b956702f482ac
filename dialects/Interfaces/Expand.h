//===- Expand.h - Composites as primitives ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_INTERFACES_EXPAND_H
#define PTLC_DIALECTS_INTERFACES_EXPAND_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

#include "dialects/Interfaces/Expand.h.inc"

#endif // PTLC_DIALECTS_INTERFACES_EXPAND_H
