//===- Cost.cpp - Work and traffic of operations ---===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Interfaces/Cost.h"

#include "dialects/Interfaces/Cost.cpp.inc"
