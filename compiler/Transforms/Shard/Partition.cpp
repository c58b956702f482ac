//===- Partition.cpp - Rewrite the program for one rank -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the partitioner on every function of a module that has a mesh. One planner
// serves all of them: equal layers ask for equal reshards, which it remembers. For
// one device only the fields change, where micro-batches are uneven. The module
// as it was stays, as an analysis, for the pass that verifies the result.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Shard/Passes.h"

#include "compiler/Transforms/Shard/Attributes.h"
#include "compiler/Transforms/Shard/Fields.h"
#include "compiler/Transforms/Shard/GlobalProgram.h"
#include "compiler/Transforms/Shard/Partitioner.h"
#include "compiler/Transforms/Shard/Rules.h"

namespace ptlc::shard {
#define GEN_PASS_DEF_PARTITION
#include "compiler/Transforms/Shard/Passes.h.inc"
} // namespace ptlc::shard

using namespace ptlc;
using namespace mlir;

namespace {
struct Partition : shard::impl::PartitionBase<Partition> {
  using PartitionBase::PartitionBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    getAnalysis<shard::GlobalProgram>();
    markAnalysesPreserved<shard::GlobalProgram>();
    sharding::Mesh mesh = shard::readMesh(module);
    if (mesh.size() == 0) {
      for (auto function : module.getOps<func::FuncOp>())
        shard::padFields(function);
      return;
    }
    sharding::ReshardPlanner planner(mesh);
    llvm::StringSet<> cutDims = shard::cutEverywhere(mesh, module);
    for (auto function : llvm::to_vector(module.getOps<func::FuncOp>()))
      if (failed(shard::checkAnnotations(function, mesh)) ||
          failed(shard::Partitioner(function, planner, cutDims).run()))
        return signalPassFailure();
  }
};
} // namespace
