//===- ShardingRule.cpp - How an operation may be cut ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Interfaces/ShardingRule.h"

using namespace ptlc;

unsigned ShardingRule::add(mlir::StringAttr name, int64_t size, FactorKind kind) {
  if (std::optional<unsigned> known = find(name.getValue()))
    return *known;
  factors.push_back({name, size, kind});
  return factors.size() - 1;
}

std::optional<unsigned> ShardingRule::find(mlir::StringRef name) const {
  for (auto [index, factor] : llvm::enumerate(factors))
    if (factor.name.getValue() == name)
      return index;
  return std::nullopt;
}

#include "dialects/Interfaces/ShardingRule.cpp.inc"
