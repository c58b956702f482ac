//===- ExpandRows.cpp - Row-wise composites as primitives -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Fuse/OutlineRest.h"
#include "compiler/Transforms/Fuse/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ptlc::fuse {
#define GEN_PASS_DEF_EXPANDROWS
#include "compiler/Transforms/Fuse/Passes.h.inc"
} // namespace ptlc::fuse

using namespace mlir;
using namespace ptlc;

namespace {
struct ExpandRows : fuse::impl::ExpandRowsBase<ExpandRows> {
  void runOnOperation() override {
    getOperation().walk([&](func::FuncOp function) {
      fuse::expandUnsupported(function);
      fuse::expandLocal(function);
      // Expansions may hold composites; a new walk finds them.
      for (bool changed = true; std::exchange(changed, false);)
        function.walk([&](ExpandInterface composite) {
          if (isa<ptl::AttentionOp, ptl::AttentionGradOp>(composite) ||
              composite->getParentOfType<rt::KernelOp>())
            return;
          OpBuilder builder(composite);
          composite->replaceAllUsesWith(ValueRange(composite.expand(builder)));
          composite->erase();
          changed = true;
        });
      // Gradients are built: what stopped them is only in the way.
      function.walk([](ptl::StopGradientOp op) {
        op.replaceAllUsesWith(op.getX());
        op.erase();
      });
    });
  }
};
} // namespace
