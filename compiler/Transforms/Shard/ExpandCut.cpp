//===- ExpandCut.cpp - Composites along cut dimensions --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Shard/ExpandCut.h"

#include "dialects/Interfaces/Expand.h"
#include "dialects/Ptl/Ptl.h"

using namespace mlir;
using namespace ptlc;

/// True if a factor that must be whole is cut in some operand.
static bool needsCutDimension(Operation *op, const sharding::Propagation &propagation) {
  auto interface = dyn_cast<ShardingRuleInterface>(op);
  if (!interface)
    return false;
  ShardingRule rule = interface.getShardingRule();
  for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operands)) {
    const auto &cuts = propagation.get(operand).sharding.dims;
    for (auto [dim, factors] : llvm::enumerate(dims))
      for (unsigned factor : factors)
        if (rule.factors[factor].kind == FactorKind::Whole && !cuts[dim].empty())
          return true;
  }
  return false;
}

bool shard::expandCut(func::FuncOp function, const sharding::Propagation &propagation) {
  SmallVector<ExpandInterface> composites;
  function.walk([&](ExpandInterface op) {
    if (!isa<ptl::AttentionOp, ptl::AttentionGradOp>(op) && needsCutDimension(op, propagation))
      composites.push_back(op);
  });
  for (ExpandInterface composite : composites) {
    OpBuilder builder(composite);
    composite->replaceAllUsesWith(ValueRange(composite.expand(builder)));
    composite->erase();
  }
  return !composites.empty();
}
