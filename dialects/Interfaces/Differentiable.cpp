//===- Differentiable.cpp - Gradient rules of operations ---===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Interfaces/Differentiable.h"

#include "dialects/Interfaces/Differentiable.cpp.inc"
