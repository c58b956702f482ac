//===- Pipeline.cpp - The passes, in order --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/Pipeline.h"

#include "compiler/Support/Stages.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/FormatVariadic.h"

using namespace ptlc;
using namespace mlir;

static constexpr PassRow kTable[] = {
    {"stage-assign-stages", Phase::Train,
     "the backward of an operation runs where its forward does, so stages are known before it"},
    {"grad-build-step", Phase::Train,
     "the gradient program is built on the global view, so that no mesh can change its meaning"},
    {"grad-split-evaluation", Phase::Train, "a mean over many batches isn't a mean of their means"},
    {"canonicalize", Phase::Train, "folds what derivatives leave behind"},
    {"cse", Phase::Train, "forward and backward share values"},
    {"precision-insert-casts", Phase::Precision,
     "every mesh rounds the same values, and a weight before it travels"},
    {"cse", Phase::Precision, "users of a value widen it alike"},
    {"shard-propagate-shardings", Phase::Sharded,
     "over forward and backward together, so that gradients lie as their weights do"},
    {"shard-partition", Phase::Spmd,
     "the last pass that sees the global view; after it every type is local"},
    {"shard-verify-sharding", Phase::Spmd,
     "both views are known here only, and most wrong programs run to the end"},
    {"memory-recompute", Phase::Remat,
     "forward and backward are in one block, and collectives are there to be repeated, too"},
    {"zero-split-storage", Phase::Zero,
     "what is pending is known, and collectives haven't been merged"},
    {"stage-cut-stages", Phase::Pipelined,
     "collectives are known, and travel with what makes their operands"},
    {"comm-finish-in-loop", Phase::Comm,
     "sums that stand in the loop are merged with those that are made near them"},
    {"comm-combine-all-reduces", Phase::Comm,
     "all collectives are known, and nothing has been fused around them"},
    {"canonicalize", Phase::Kernels, "partitioning leaves sums of scattered and other gradients"},
    {"fuse-restore-places", Phase::Kernels, "folding takes the places of constants away"},
    {"fuse-expand-rows", Phase::Kernels, "one rule groups primitives, whatever they were part of"},
    {"cse", Phase::Kernels, "expansions of forward and backward share values"},
    {"fuse-rows", Phase::Kernels, "memory is read and written once per group, not per operation"},
    {"fuse-outline-single", Phase::Kernels, "whatever isn't fused is a kernel of its own"},
    {"fuse-chunk-rows", Phase::Kernels, "which kernels make and read a large value is known now"},
    {"comm-start-collectives", Phase::Kernels,
     "what can run beside a collective is known when everything is a kernel"},
    {"memory-plan-buffers", Phase::Memory,
     "lifetimes are those of kernels, so this comes after them"},
    {"cuda-lower-row-kernels", Phase::Gpu, "layouts decide what 16 bytes hold (--target=cuda)"},
    {"cuda-lower-to-nvvm", Phase::Nvvm, "MLIR's way to the GPU's instructions (--target=cuda)"},
};

static constexpr OrderRow kConstraints[] = {
    {"stage-assign-stages", "grad-build-step",
     "gradients take the stage of what they are gradients of"},
    {"shard-verify-sharding", "stage-cut-stages",
     "the global program isn't cut into ranks of a pipeline"},
    {"stage-cut-stages", "comm-combine-all-reduces", "a collective belongs to one stage"},
    {"grad-build-step", "canonicalize", "there is nothing to fold before"},
    {"grad-build-step", "shard-propagate-shardings",
     "the gradient of a replicated value is ambiguous once a program is cut"},
    {"grad-split-evaluation", "shard-propagate-shardings",
     "totals of all batches are finished across ranks once"},
    {"grad-build-step", "precision-insert-casts", "gradients are stored in bf16, too"},
    {"precision-insert-casts", "shard-propagate-shardings", "casts are sharded like all else"},
    {"shard-propagate-shardings", "shard-partition", "the partitioner reads its attributes"},
    {"shard-partition", "shard-verify-sharding", "it leaves the global program to compare with"},
    {"shard-verify-sharding", "comm-combine-all-reduces",
     "moves must stand where the partitioner put them"},
    {"shard-verify-sharding", "zero-split-storage",
     "gradients and weights must have the shapes of the global program's shards"},
    {"memory-recompute", "zero-split-storage",
     "weights are gathered for what is computed again, too, not kept for it"},
    {"zero-split-storage", "comm-combine-all-reduces", "it replaces the gradients' all-reduces"},
    {"shard-partition", "comm-combine-all-reduces", "the partitioner makes the collectives"},
    {"shard-verify-sharding", "memory-recompute", "the global program computes nothing twice"},
    {"memory-recompute", "comm-combine-all-reduces", "repeated collectives are merged like others"},
    {"memory-recompute", "fuse-rows", "repeated operations are fused with what reads them"},
    {"comm-combine-all-reduces", "memory-plan-buffers",
     "a merged collective folds all of its operands in place at once"},
    {"canonicalize", "fuse-restore-places", "this mends what it does"},
    {"shard-partition", "fuse-outline-single", "kernels are made of local operations"},
    {"fuse-outline-single", "fuse-chunk-rows", "it moves whole kernels"},
    {"zero-split-storage", "comm-finish-in-loop", "it scatters what it can in the loop by itself"},
    {"comm-finish-in-loop", "comm-combine-all-reduces",
     "a bucket holds what becomes known in turn"},
    {"comm-combine-all-reduces", "comm-start-collectives", "a bucket is started as one"},
    {"fuse-chunk-rows", "comm-start-collectives", "a loop over pieces is one operation beside it"},
    {"comm-start-collectives", "memory-plan-buffers",
     "memory belongs to a collective from its start to its end"},
};

llvm::ArrayRef<PassRow> ptlc::pipelineTable() { return kTable; }
llvm::ArrayRef<OrderRow> ptlc::pipelineConstraints() { return kConstraints; }

/// Adds the passes of the phases from `first` to `last`.
static LogicalResult addPasses(OpPassManager &manager, Phase first, Phase last,
                               llvm::raw_ostream &errors) {
  for (const PassRow &row : kTable)
    if (row.phase >= first && row.phase <= last &&
        failed(parsePassPipeline(row.pass, manager, errors)))
      return failure();
  return success();
}

LogicalResult ptlc::buildPipeline(OpPassManager &manager, Phase last, llvm::raw_ostream &errors) {
  return addPasses(manager, Phase::Ast, last, errors);
}

LogicalResult ptlc::runPipeline(ModuleOp module, Phase last,
                                llvm::function_ref<void(PassManager &)> prepare,
                                llvm::raw_ostream &errors) {
  PassManager whole(module.getContext(), ModuleOp::getOperationName());
  prepare(whole);
  if (failed(addPasses(whole, Phase::Ast, std::min(last, Phase::Pipelined), errors)) ||
      failed(whole.run(module)))
    return failure();
  for (ModuleOp program : rankPrograms(module)) {
    PassManager each(module.getContext(), ModuleOp::getOperationName());
    prepare(each);
    if (failed(addPasses(each, Phase::Comm, last, errors)) || failed(each.run(program)))
      return failure();
  }
  return success();
}

void ptlc::printPipeline(llvm::raw_ostream &os) {
  for (const PassRow &row : kTable)
    os << llvm::formatv("{0,-10} {1,-28} {2}\n", phaseName(row.phase), row.pass, row.reason);
}
