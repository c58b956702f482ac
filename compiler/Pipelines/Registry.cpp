//===- Registry.cpp - Dialects and passes of all tools --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/Pipeline.h"

#include "compiler/Codegen/CUDA/Passes.h"
#include "compiler/Transforms/Comm/Passes.h"
#include "compiler/Transforms/Expand/Passes.h"
#include "compiler/Transforms/Fuse/Passes.h"
#include "compiler/Transforms/Memory/Passes.h"
#include "compiler/Transforms/Grad/Passes.h"
#include "compiler/Transforms/Precision/Passes.h"
#include "compiler/Transforms/Shard/Passes.h"
#include "compiler/Transforms/Stage/Passes.h"
#include "compiler/Transforms/Zero/Passes.h"
#include "dialects/Ptl/Ptl.h"
#include "dialects/Rt/Rt.h"
#include "dialects/Spmd/Spmd.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"

#include <mutex>

using namespace mlir;

static void registerPasses() {
  registerTransformsPasses();
  ptlc::comm::registerPtlcCommPasses();
  ptlc::expand::registerPtlcExpandPasses();
  ptlc::grad::registerPtlcGradPasses();
  ptlc::precision::registerPtlcPrecisionPasses();
  ptlc::shard::registerPtlcShardPasses();
  ptlc::stage::registerPtlcStagePasses();
  ptlc::fuse::registerPtlcFusePasses();
  ptlc::memory::registerPtlcMemoryPasses();
  ptlc::zero::registerPtlcZeroPasses();
  ptlc::cuda::registerPasses();
}

void ptlc::registerEverything(DialectRegistry &registry) {
  registry.insert<func::FuncDialect, ptl::PtlDialect, spmd::SpmdDialect, rt::RtDialect>();
  cuda::registerDialects(registry);
  static std::once_flag once;
  std::call_once(once, registerPasses);
}
