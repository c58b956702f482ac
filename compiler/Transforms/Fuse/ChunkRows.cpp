//===- ChunkRows.cpp - Large values a piece at a time ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The largest values come first, since a group grows through values half as
// large only: logits of 50,000 classes make a group with their loss and their
// gradient, not with the whole network. Whether there is a loop follows from the
// size on all ranks, so that a program has the same operations on any number.
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Kernel/Outline.h"
#include "compiler/Transforms/Fuse/ChunkGroup.h"
#include "compiler/Transforms/Fuse/Passes.h"
#include "dialects/Spmd/Spmd.h"
#include "dialects/Ptl/ByteSize.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ptlc::fuse {
#define GEN_PASS_DEF_CHUNKROWS
#include "compiler/Transforms/Fuse/Passes.h.inc"
} // namespace ptlc::fuse

using namespace mlir;
using namespace ptlc;

namespace {
struct ChunkRows : fuse::impl::ChunkRowsBase<ChunkRows> {
  using ChunkRowsBase::ChunkRowsBase;

  void runOnOperation() override {
    if (spmd::MeshOp mesh = spmd::findMesh(getOperation()))
      for (spmd::AxisAttr axis : mesh.getAxisRange())
        ranks *= axis.getSize();
    getOperation().walk([&](func::FuncOp function) {
      SmallVector<Block *> blocks;
      function.walk([&](Block *block) {
        if (!isa<rt::KernelOp, rt::ChunksOp>(block->getParentOp()))
          blocks.push_back(block);
      });
      for (Block *block : blocks)
        chunkBlock(*block);
    });
  }

private:
  int64_t ranks = 1;

  void chunkBlock(Block &block) {
    DenseSet<Value> done; // in a loop, or known to fit in none
    for (Value large : findLarge(block)) {
      if (done.contains(large))
        continue;
      std::optional<fuse::ChunkGroup> group = fuse::ChunkGroup::create(large, done);
      if (!group)
        continue;
      for (Operation *kernel : group->getKernels())
        done.insert(kernel->result_begin(), kernel->result_end());
      group->build(piecesFor(*group));
    }
  }

  /// The large results of kernels, largest first.
  SmallVector<Value> findLarge(Block &block) const {
    SmallVector<Value> large;
    for (rt::KernelOp kernel : block.getOps<rt::KernelOp>())
      for (Value result : kernel.getOutputs())
        if (ptl::getByteSize(result.getType()) * ranks > threshold)
          large.push_back(result);
    llvm::stable_sort(large, [](Value a, Value b) {
      return ptl::getByteSize(a.getType()) > ptl::getByteSize(b.getType());
    });
    return large;
  }

  /// The fewest equal pieces that are small enough, or as many as have enough rows.
  int64_t piecesFor(const fuse::ChunkGroup &group) const {
    int64_t best = 1;
    if (group.bytes <= threshold)
      return best;
    for (int64_t pieces = 2; pieces <= group.size && group.rows / pieces >= minRows; ++pieces) {
      if (group.size % pieces)
        continue;
      best = pieces;
      if (group.bytes / pieces <= threshold)
        break;
    }
    return best;
  }
};
} // namespace
