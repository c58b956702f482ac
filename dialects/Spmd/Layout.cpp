//===- Layout.cpp - Where the elements of a cut dimension lie -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Nested ceil division: each axis divides the block of the axes before it, so
// that removing or adding the minor axis gives again a legal layout.
//===----------------------------------------------------------------------===//
#include "dialects/Spmd/Spmd.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ptlc;

int64_t spmd::nestedCeil(int64_t size, ArrayRef<int64_t> sizes) {
  for (int64_t count : sizes)
    size = llvm::divideCeil(size, count);
  return size;
}

spmd::Extent spmd::shardExtent(int64_t size, ArrayRef<int64_t> sizes,
                               ArrayRef<int64_t> coordinates) {
  Extent extent{0, size};
  int64_t block = size;
  for (auto [count, coordinate] : llvm::zip_equal(sizes, coordinates)) {
    block = llvm::divideCeil(block, count);
    extent.start += coordinate * block;
    extent.valid = std::clamp<int64_t>(extent.valid - coordinate * block, 0, block);
  }
  return extent;
}

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
