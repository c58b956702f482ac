//===- Differentiable.h - Gradient rules of operations ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_DIALECTS_INTERFACES_DIFFERENTIABLE_H
#define PTLC_DIALECTS_INTERFACES_DIFFERENTIABLE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

#include "dialects/Interfaces/Differentiable.h.inc"

#endif // PTLC_DIALECTS_INTERFACES_DIFFERENTIABLE_H
