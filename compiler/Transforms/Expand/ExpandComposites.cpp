//===- ExpandComposites.cpp - Replace composites by definitions -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Collects the composites first and expands each once: an expansion consists of
// primitives, so one round is enough. Discardable attributes (the mark of a
// gradient) stay with the operation that now produces the value.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Expand/Passes.h"
#include "dialects/Ptl/Ptl.h"

namespace ptlc::expand {
#define GEN_PASS_DEF_EXPANDCOMPOSITES
#include "compiler/Transforms/Expand/Passes.h.inc"
} // namespace ptlc::expand
using namespace mlir;
using namespace ptlc;

static void replaceByExpansion(ExpandInterface composite) {
  OpBuilder builder(composite);
  SmallVector<Value> values = composite.expand(builder);
  if (composite->getNumResults() == 1 && values.front().getDefiningOp())
    for (NamedAttribute attribute : composite->getDiscardableAttrs())
      values.front().getDefiningOp()->setDiscardableAttr(attribute.getName(), attribute.getValue());
  composite->replaceAllUsesWith(values);
  composite->erase();
}

namespace {
struct ExpandComposites : expand::impl::ExpandCompositesBase<ExpandComposites> {
  using ExpandCompositesBase::ExpandCompositesBase;
  void runOnOperation() override {
    SmallVector<ExpandInterface> composites;
    getOperation()->walk([&](ExpandInterface op) {
      if (only.empty() || llvm::is_contained(only, op->getName().getStringRef()))
        composites.push_back(op);
    });
    for (ExpandInterface composite : composites)
      replaceByExpansion(composite);
  }
};
} // namespace
