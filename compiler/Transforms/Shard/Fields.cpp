//===- Fields.cpp - Data fields of one device -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Shard/Fields.h"

#include "compiler/Support/SignatureAttributes.h"
#include "compiler/Transforms/Shard/Attributes.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace ptlc;
using namespace ptlc::sharding;
using namespace mlir;

static constexpr llvm::StringLiteral kBatch = "batch";

int64_t shard::piecesOf(BlockArgument argument) {
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto role = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "ptl.role");
  if (!role || role.getValue() != "data" || !ptl::hasDim(argument, kBatch))
    return 1;
  for (ptl::AccumulateOp step : function.getBody().getOps<ptl::AccumulateOp>())
    return step.getPieces();
  return 1;
}

RankedTensorType shard::fieldType(RankedTensorType global, int64_t pieces, const Mesh &mesh,
                                  const Sharding &sharding) {
  SmallVector<int64_t, 4> shape = localShape(mesh, global.getShape(), sharding);
  if (pieces > 1) {
    unsigned batch = *ptl::findDim(global, kBatch);
    int64_t piece = llvm::divideCeil(global.getDimSize(batch), pieces);
    shape[batch] = pieces * localLength(mesh, piece, sharding.dims[batch]);
  }
  return ptl::getTensorType(shape, global.getElementType(), ptl::getDims(global));
}

void shard::padFields(func::FuncOp function) {
  SignatureAttributes attributes = SignatureAttributes::ofArguments(function);
  Builder builder(function.getContext());
  for (BlockArgument argument : function.getArguments()) {
    auto global = dyn_cast<RankedTensorType>(argument.getType());
    int64_t pieces = piecesOf(argument);
    if (!global || pieces == 1)
      continue;
    RankedTensorType type = fieldType(global, pieces, Mesh(), Sharding(global.getRank()));
    if (type == global)
      continue;
    attributes.set(argument.getArgNumber(), kPieces, builder.getI64IntegerAttr(pieces));
    attributes.set(argument.getArgNumber(), kGlobalType, TypeAttr::get(global));
    argument.setType(type);
  }
  attributes.commit();
  function.setFunctionType(
      builder.getFunctionType(function.getBody().getArgumentTypes(), function.getResultTypes()));
}
