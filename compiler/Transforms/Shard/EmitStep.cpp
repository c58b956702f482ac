//===- EmitStep.cpp - Steps of a reshard as operations --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Shard/EmitStep.h"

#include "compiler/Transforms/Shard/Attributes.h"
#include "dialects/Ptl/Ptl.h"
#include "dialects/Spmd/Spmd.h"

using namespace ptlc;
using namespace ptlc::sharding;
using namespace mlir;

Value shard::emitStep(OpBuilder &builder, Location loc, const Mesh &mesh, const Step &step,
                      Value local, RankedTensorType global, StringAttr reason) {
  MLIRContext *context = builder.getContext();
  auto symbol = FlatSymbolRefAttr::get(context, "mesh");
  auto axes = toAttribute(context, mesh, step.axes);
  auto names = ptl::getDims(global);
  StringAttr dim = step.dim >= 0 ? names[step.dim] : StringAttr();
  RankedTensorType type = ptl::getTensorType(localShape(mesh, global.getShape(), step.target),
                                             global.getElementType(), names);
  auto kind = ptl::FoldKindAttr::get(context, static_cast<ptl::FoldKind>(step.source.kind));
  switch (step.kind) {
  case StepKind::Slice:
    return spmd::SliceOp::create(builder, loc, type, local, dim, symbol, axes, nullptr);
  case StepKind::Mask:
    // A maximum or minimum of equal values is that value.
    if (step.target.kind != Fold::Sum)
      return local;
    return spmd::KeepOp::create(builder, loc, type, local, symbol, axes);
  case StepKind::AllGather:
    return spmd::AllGatherOp::create(builder, loc, type, local, dim, symbol, axes, reason);
  case StepKind::AllToAll:
    return spmd::AllToAllOp::create(builder, loc, type, local, dim, names[step.to], symbol, axes,
                                    reason);
  case StepKind::ReduceScatter:
    return spmd::ReduceScatterOp::create(builder, loc, TypeRange{type}, kind, local, dim, symbol,
                                         axes, reason);
  case StepKind::AllReduce:
    return spmd::AllReduceOp::create(builder, loc, TypeRange{type}, kind, ValueRange{local}, symbol,
                                     axes, reason, /*members=*/nullptr)
        .getResult(0);
  case StepKind::Permute:
    return spmd::PermuteOp::create(
        builder, loc, type, local, toAttribute(context, mesh, step.source.withPartial(0)),
        toAttribute(context, mesh, step.target.withPartial(0)), symbol, axes, reason);
  }
  return {};
}
