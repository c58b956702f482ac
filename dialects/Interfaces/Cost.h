//===- Cost.h - Work and traffic of operations ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_INTERFACES_COST_H
#define PTLC_DIALECTS_INTERFACES_COST_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

#include "dialects/Interfaces/Cost.h.inc"

#endif // PTLC_DIALECTS_INTERFACES_COST_H
