//===- VerifySharding.cpp - Compare the local program with the global one -===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the verifier (ShardingVerifier.h) on every function of the module against
// the copy that the partitioner left. Part of every compilation: a wrong collective
// computes plausible numbers, and two of three wrong programs run to the end.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Shard/Passes.h"

#include "compiler/Transforms/Shard/Attributes.h"
#include "compiler/Transforms/Shard/GlobalProgram.h"
#include "compiler/Transforms/Shard/ShardingVerifier.h"

namespace ptlc::shard {
#define GEN_PASS_DEF_VERIFYSHARDING
#include "compiler/Transforms/Shard/Passes.h.inc"
} // namespace ptlc::shard

using namespace ptlc;
using namespace mlir;

/// Which reading of constants and repetitions was meant is of no use to anyone else.
static void dropReadings(ModuleOp module) {
  module.walk([](Operation *op) { op->removeDiscardableAttr(shard::kShardings); });
}

namespace {
struct VerifySharding : shard::impl::VerifyShardingBase<VerifySharding> {
  using VerifyShardingBase::VerifyShardingBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto program = getCachedAnalysis<shard::GlobalProgram>();
    if (!program) {
      module.emitError("there is no global program to compare with")
          << "; run shard-partition right before";
      return signalPassFailure();
    }
    sharding::Mesh mesh = shard::readMesh(module);
    shard::ShardingVerifier verifier(mesh);
    for (auto global : program->get().getModule().getOps<func::FuncOp>()) {
      auto local = module.lookupSymbol<func::FuncOp>(global.getName());
      if (!local) {
        emitError(global.getLoc()) << "internal error: partitioned program is wrong: it lacks '"
                                   << global.getName() << "'";
        return signalPassFailure();
      }
      if (failed(verifier.run(global, local)))
        return signalPassFailure();
    }
    dropReadings(module);
  }
};
} // namespace
