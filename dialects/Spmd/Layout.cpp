//===- Layout.cpp - Meshes, shardings and cuts as attributes --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "dialects/Spmd/Spmd.h"

using namespace mlir;
using namespace ptlc;

spmd::MeshOp spmd::findMesh(Operation *module) {
  for (Operation &op : module->getRegion(0).front())
    if (auto mesh = dyn_cast<MeshOp>(op))
      return mesh;
  return {};
}

std::optional<int64_t> spmd::MeshOp::getAxisSize(StringRef name) {
  for (AxisAttr axis : getAxisRange())
    if (axis.getName().getValue() == name)
      return axis.getSize();
  return std::nullopt;
}

int64_t spmd::MeshOp::getDeviceCount() {
  int64_t count = 1;
  for (AxisAttr axis : getAxisRange())
    count *= axis.getSize();
  return count;
}

spmd::ShardingAttr spmd::ShardingAttr::getReplicated(MLIRContext *context, unsigned rank) {
  SmallVector<AxesAttr> dims(rank, AxesAttr::get(context, {}));
  return get(context, dims, {}, ptl::FoldKind::Sum);
}

bool spmd::ShardingAttr::isReplicated() const {
  return !isPartial() &&
         llvm::all_of(getDims(), [](AxesAttr axes) { return axes.getNames().empty(); });
}

spmd::CutAttr spmd::CutsAttr::find(StringRef dim) const {
  for (CutAttr cut : getCuts())
    if (cut.getDim().getValue() == dim)
      return cut;
  return {};
}
