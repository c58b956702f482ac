//===- Attributes.cpp - Shardings as attributes ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Shard/Attributes.h"

#include "compiler/Support/Stages.h"

using namespace ptlc;
using namespace ptlc::sharding;
using namespace mlir;

/// A message costs as much as so many bytes on the same link.
static constexpr double kMessageBytes = 64;

Mesh ptlc::shard::readMesh(ModuleOp module) {
  SmallVector<Axis, 4> axes;
  DictionaryAttr pipeline = pipelineOf(module);
  if (spmd::MeshOp mesh = spmd::findMesh(module))
    for (spmd::AxisAttr axis : mesh.getAxisRange())
      axes.push_back({axis.getName().str(), axis.getSize(), axis.getByteCost(),
                      kMessageBytes * axis.getByteCost(),
                      pipeline && pipeline.get("axis") == axis.getName()});
  return Mesh(axes);
}

spmd::AxesAttr ptlc::shard::toAttribute(MLIRContext *context, const Mesh &mesh,
                                        ArrayRef<AxisId> axes) {
  SmallVector<StringAttr> names;
  for (AxisId axis : axes)
    names.push_back(StringAttr::get(context, mesh[axis].name));
  return spmd::AxesAttr::get(context, names);
}

spmd::ShardingAttr ptlc::shard::toAttribute(MLIRContext *context, const Mesh &mesh,
                                            const Sharding &sharding) {
  SmallVector<spmd::AxesAttr> dims;
  for (const AxisList &list : sharding.dims)
    dims.push_back(toAttribute(context, mesh, list));
  SmallVector<StringAttr> partial;
  for (AxisId axis = 0; axis < mesh.size(); axis++)
    if (sharding.partial & axisBit(axis))
      partial.push_back(StringAttr::get(context, mesh[axis].name));
  auto kind = static_cast<ptl::FoldKind>(sharding.kind);
  return spmd::ShardingAttr::get(context, dims, partial, kind);
}

Sharding ptlc::shard::fromAttribute(const Mesh &mesh, spmd::ShardingAttr attribute) {
  Sharding sharding(attribute.getDims().size());
  for (auto [dim, axes] : llvm::enumerate(attribute.getDims()))
    for (StringAttr name : axes.getNames())
      sharding.dims[dim].push_back(mesh.find(name.getValue()));
  for (StringAttr name : attribute.getPartial())
    sharding.partial |= axisBit(mesh.find(name.getValue()));
  sharding.kind = static_cast<Fold>(attribute.getKind());
  return sharding;
}

/// `attribute` says how a value of type `type` is cut; failures are reported on `loc`.
static LogicalResult checkAnnotation(Attribute attribute, Type type, const Mesh &mesh,
                                     Location loc) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return success();
  auto sharding = dyn_cast_or_null<spmd::ShardingAttr>(attribute);
  if (!sharding)
    return emitError(loc) << "a value has no sharding; run --shard-propagate-shardings first";
  if (sharding.getDims().size() != static_cast<size_t>(tensor.getRank()))
    return emitError(loc) << "the sharding has " << sharding.getDims().size()
                          << " dimensions, the value has " << tensor.getRank();
  auto checkAxis = [&](StringAttr name) -> LogicalResult {
    if (mesh.find(name.getValue()) >= 0)
      return success();
    return emitError(loc) << "mesh 'mesh' has no axis '" << name.getValue() << "'";
  };
  for (spmd::AxesAttr axes : sharding.getDims())
    for (StringAttr name : axes.getNames())
      if (failed(checkAxis(name)))
        return failure();
  for (StringAttr name : sharding.getPartial())
    if (failed(checkAxis(name)))
      return failure();
  return success();
}

LogicalResult ptlc::shard::checkAnnotations(func::FuncOp function, const Mesh &mesh) {
  for (BlockArgument argument : function.getArguments())
    if (failed(checkAnnotation(function.getArgAttr(argument.getArgNumber(), kSharding),
                               argument.getType(), mesh, argument.getLoc())))
      return failure();
  WalkResult walked = function.walk([&](Operation *op) {
    auto list = op->getAttrOfType<ArrayAttr>(kShardings);
    for (OpResult result : op->getResults()) {
      bool isListed = list && result.getResultNumber() < list.size();
      if (failed(checkAnnotation(isListed ? list[result.getResultNumber()] : Attribute(),
                                 result.getType(), mesh, op->getLoc())))
        return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

std::string shard::axesText(const Mesh &mesh, ArrayRef<AxisId> axes) {
  std::string text;
  for (AxisId axis : axes)
    text += (text.empty() ? "" : ", ") + mesh[axis].name;
  return text;
}
