//===- OutlineSingle.cpp - One kernel per operation -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Walks every block once and outlines what computes. Free operations (constants,
// broadcasts) are copied into the kernels that read them and erased, unless
// something else still needs their value, which then gets a kernel, too.
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Kernel/Outline.h"
#include "compiler/Transforms/Fuse/OutlineRest.h"
#include "compiler/Transforms/Fuse/Passes.h"
#include "compiler/Transforms/Fuse/RowShape.h"
#include "dialects/Spmd/Spmd.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ptlc::fuse {
#define GEN_PASS_DEF_OUTLINESINGLE
#include "compiler/Transforms/Fuse/Passes.h.inc"
} // namespace ptlc::fuse

using namespace mlir;
using namespace ptlc;

namespace {
struct OutlineSingle : fuse::impl::OutlineSingleBase<OutlineSingle> {
  void runOnOperation() override {
    getOperation().walk([&](func::FuncOp function) {
      fuse::expandUnsupported(function);
      fuse::expandLocal(function);
      function.walk([&](Block *block) {
        if (!isa<rt::KernelOp>(block->getParentOp()))
          fuse::outlineRest(*block);
      });
      // Kernels aren't united any more.
      function.walk([](rt::OptimizationBarrierOp op) {
        op.replaceAllUsesWith(op.getX());
        op.erase();
      });
    });
  }
};
} // namespace
