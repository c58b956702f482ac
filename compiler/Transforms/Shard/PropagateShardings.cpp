//===- PropagateShardings.cpp - Annotate values with shardings ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Declares the plan's mesh and annotates every function (Clashes.h) with what the
// analysis of Propagation.h finds, so that the stage can be read and printed.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Shard/Passes.h"

#include "compiler/Transforms/Shard/Attributes.h"
#include "compiler/Transforms/Shard/Clashes.h"
#include "compiler/Transforms/Shard/Rules.h"

namespace ptlc::shard {
#define GEN_PASS_DEF_PROPAGATESHARDINGS
#include "compiler/Transforms/Shard/Passes.h.inc"
} // namespace ptlc::shard

using namespace ptlc;
using namespace ptlc::sharding;
using namespace mlir;

/// Declares the mesh of the plan, without axes of size 1; returns whether any axis is left.
static bool declareMesh(ModuleOp module, DictionaryAttr plan) {
  SmallVector<Attribute> axes;
  MLIRContext *context = module.getContext();
  for (auto axis : plan.getAs<ArrayAttr>("mesh").getAsRange<DictionaryAttr>()) {
    int64_t size = axis.getAs<IntegerAttr>("size").getInt();
    if (size > 1)
      axes.push_back(spmd::AxisAttr::get(context, axis.getAs<StringAttr>("name"), size,
                                         axis.getAs<FloatAttr>("link")));
  }
  if (axes.empty())
    return false;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  spmd::MeshOp::create(builder, module.getLoc(), "mesh", builder.getArrayAttr(axes));
  return true;
}

/// `scatter_add .. into x` becomes a sum with x: of the two terms one may be pending where the
/// other is folded, which the joint form cannot say. Canonicalization joins them again.
static void splitScatters(ModuleOp module) {
  module.walk([](ptl::ScatterAddOp op) {
    if (!op.getInit())
      return;
    OpBuilder builder(op);
    auto scatter =
        ptl::ScatterAddOp::create(builder, op.getLoc(), op.getResult().getType(), op.getIds(),
                                  op.getUpdates(), Value(), op.getDimAttr(), op.getCutAttr());
    auto sum = ptl::ElementwiseOp::create(builder, op.getLoc(), ptl::ElementwiseKind::Add,
                                          ValueRange{op.getInit(), scatter.getResult()});
    op.replaceAllUsesWith(sum.getResult());
    op.erase();
  });
}

/// On one device no directive means anything.
static void dropConstraints(ModuleOp module) {
  module.walk([](spmd::ConstrainOp op) {
    op.replaceAllUsesWith(op.getX());
    op.erase();
  });
}

namespace {
struct PropagateShardings : shard::impl::PropagateShardingsBase<PropagateShardings> {
  using PropagateShardingsBase::PropagateShardingsBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto plan = module->getAttrOfType<DictionaryAttr>("ptl.plan");
    if (!plan || !declareMesh(module, plan))
      return dropConstraints(module);
    splitScatters(module);
    Mesh mesh = shard::readMesh(module);
    SmallVector<DimRule> rules = shard::readRules(mesh, plan);
    llvm::StringSet<> cutDims = shard::cutEverywhere(mesh, module);
    shard::Annotator annotator(mesh, rules, cutDims);
    // What clashes is decided by what a training step costs, where it occurs there.
    auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
    llvm::stable_sort(functions, [](func::FuncOp a, func::FuncOp b) {
      return (a.getName() == "step") > (b.getName() == "step");
    });
    for (func::FuncOp function : functions)
      if (failed(annotator.run(function)))
        return signalPassFailure();
  }
};
} // namespace
