//===- FuseRows.cpp - Kernels of row-wise operations ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Kernel/BuildGraph.h"
#include "compiler/Analysis/Kernel/Outline.h"
#include "compiler/Analysis/Kernel/RowPlan.h"
#include "compiler/Transforms/Fuse/Passes.h"
#include "compiler/Transforms/Fuse/Recompute.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace ptlc::fuse {
#define GEN_PASS_DEF_FUSEROWS
#include "compiler/Transforms/Fuse/Passes.h.inc"
} // namespace ptlc::fuse

using namespace mlir;
using namespace ptlc;

/// Puts the body of a kernel back in its place.
static void dissolve(rt::KernelOp kernel) {
  OpBuilder builder(kernel);
  Block &body = kernel.getBody().front();
  IRMapping map;
  map.map(body.getArguments(), kernel.getInputs());
  for (Operation &op : body.without_terminator())
    builder.clone(op, map);
  for (auto [value, result] :
       llvm::zip_equal(body.getTerminator()->getOperands(), kernel.getOutputs()))
    result.replaceAllUsesWith(map.lookup(value));
  kernel.erase();
}

static bool hasPlan(rt::KernelOp kernel) {
  auto graph = kernel::buildGraph(kernel.getBody().front(), kernel.getIterate().getNames());
  std::string error;
  return succeeded(graph) && kernel::RowPlan::create(*graph, error);
}

static void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (!op.hasTrait<OpTrait::IsTerminator>() && isOpTriviallyDead(&op))
      op.erase();
}

static void fuseBlock(Block &block) {
  eraseDead(block);
  fuse::Groups groups(block);
  fuse::recomputeCheapValues(block, groups);
  if (!groups.sortBlock())
    return;
  for (fuse::Group &group : groups.all()) {
    // Copies leave originals without users behind.
    for (Operation *&op : llvm::reverse(group.operations))
      if (isOpTriviallyDead(op)) {
        op->erase();
        op = nullptr;
      }
    llvm::erase(group.operations, nullptr);
    if (group.operations.empty())
      continue;
    rt::KernelOp kernel = kernel::outline(group.operations, rt::KernelKind::Rows, group.iterate);
    if (!hasPlan(kernel))
      dissolve(kernel);
  }
  eraseDead(block);
}

namespace {
struct FuseRows : fuse::impl::FuseRowsBase<FuseRows> {
  void runOnOperation() override {
    getOperation().walk([&](func::FuncOp function) {
      SmallVector<Block *> blocks;
      function.walk([&](Block *block) {
        if (!isa<rt::KernelOp>(block->getParentOp()))
          blocks.push_back(block);
      });
      for (Block *block : blocks)
        fuseBlock(*block);
    });
  }
};
} // namespace
