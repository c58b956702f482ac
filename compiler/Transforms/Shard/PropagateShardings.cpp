//===- PropagateShardings.cpp - Annotate values with shardings ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Declares the plan's mesh, runs the analysis of Propagation.h on every function
// and writes its result as attributes, so that the stage can be read and printed.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Shard/Passes.h"

#include "compiler/Analysis/Sharding/Propagation.h"
#include "compiler/Support/SignatureAttributes.h"
#include "compiler/Transforms/Shard/ExpandCut.h"
#include "compiler/Transforms/Shard/Attributes.h"
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
      axes.push_back(spmd::AxisAttr::get(context, axis.getAs<StringAttr>("name"), size));
  }
  if (axes.empty())
    return false;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  spmd::MeshOp::create(builder, module.getLoc(), "mesh", builder.getArrayAttr(axes));
  return true;
}

/// Returns the origins of the cut dimensions as one text.
static std::string explain(const ValueSharding &value) {
  std::string text;
  for (auto [dim, axes] : llvm::enumerate(value.sharding.dims)) {
    const std::string &origin = value.origins[dim].text;
    if (!axes.empty() && text.find(origin) == std::string::npos)
      text += (text.empty() ? "" : "; ") + origin;
  }
  return text;
}

static void annotate(func::FuncOp function, const Mesh &mesh, const Propagation &propagation) {
  MLIRContext *context = function.getContext();
  auto attributeOf = [&](Value value) {
    return shard::toAttribute(context, mesh, propagation.get(value).sharding);
  };
  SignatureAttributes arguments = SignatureAttributes::ofArguments(function);
  for (auto [i, argument] : llvm::enumerate(function.getArguments()))
    arguments.set(i, shard::kSharding, attributeOf(argument));
  arguments.commit();
  function.walk([&](Operation *op) {
    if (op == function || op->getNumResults() == 0)
      return;
    SmallVector<Attribute> shardings, origins;
    for (Value result : op->getResults()) {
      shardings.push_back(attributeOf(result));
      origins.push_back(StringAttr::get(context, explain(propagation.get(result))));
    }
    op->setAttr(shard::kShardings, ArrayAttr::get(context, shardings));
    op->setAttr(shard::kOrigins, ArrayAttr::get(context, origins));
  });
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
    for (auto function : module.getOps<func::FuncOp>()) {
      // An expansion may hold composites, so until nothing is expanded.
      for (bool again = true; again;) {
        Propagation propagation(function, mesh);
        if (failed(propagation.run(rules)))
          return signalPassFailure();
        again = shard::expandCut(function, propagation);
        if (!again)
          annotate(function, mesh, propagation);
      }
    }
  }
};
} // namespace
