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

bool spmd::isCollective(Operation *op) {
  return isa<AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp, PermuteOp,
             BucketReduceScatterOp, BucketAllGatherOp>(op);
}

int64_t spmd::groupSize(MeshOp mesh, AxesAttr axes) {
  int64_t size = 1;
  for (StringAttr axis : axes.getNames())
    size *= mesh.getAxisSize(axis).value_or(1);
  return size;
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

namespace {
/// The coordinates of a device along the axes of its group.
using Coordinates = llvm::MapVector<StringAttr, int64_t>;
} // namespace

/// Returns where the device that has, under `from`, the shard which `receiver` has under `to` lies.
/// Axes outside the group keep their place in the lists, so any coordinate serves for them.
static Coordinates senderOf(spmd::PermuteOp op, spmd::MeshOp mesh, const Coordinates &receiver) {
  Coordinates sender = receiver;
  auto sizeOf = [&](StringAttr name) { return *mesh.getAxisSize(name.getValue()); };
  for (unsigned dim = 0; dim < op.getFrom().getDims().size(); dim++) {
    int64_t shard = 0;
    for (StringAttr name : op.getTo().getAxes(dim))
      shard = shard * sizeOf(name) + receiver.lookup(name);
    for (StringAttr name : llvm::reverse(op.getFrom().getAxes(dim))) {
      if (sender.contains(name))
        sender[name] = shard % sizeOf(name);
      shard /= sizeOf(name);
    }
  }
  return sender;
}

/// Returns the axes that cut `in` and not `other`, by size: the two lists pair up.
static SmallVector<StringAttr> onlyIn(spmd::ShardingAttr in, spmd::ShardingAttr other,
                                      spmd::MeshOp mesh) {
  SmallVector<StringAttr> list;
  auto cuts = [](spmd::ShardingAttr sharding, StringAttr name) {
    return llvm::any_of(sharding.getDims(), [&](spmd::AxesAttr axes) {
      return llvm::is_contained(axes.getNames(), name);
    });
  };
  for (spmd::AxisAttr axis : mesh.getAxisRange())
    if (cuts(in, axis.getName()) && !cuts(other, axis.getName()))
      list.push_back(axis.getName());
  llvm::stable_sort(list, [&](StringAttr a, StringAttr b) {
    return *mesh.getAxisSize(a.getValue()) < *mesh.getAxisSize(b.getValue());
  });
  return list;
}

SmallVector<int64_t> spmd::PermuteOp::getSources(MeshOp mesh) {
  ArrayRef<StringAttr> group = getAxes().getNames();
  SmallVector<int64_t> sizes, sources;
  for (StringAttr name : group)
    sizes.push_back(*mesh.getAxisSize(name.getValue()));
  auto freed = onlyIn(getFrom(), getTo(), mesh), taken = onlyIn(getTo(), getFrom(), mesh);
  for (int64_t member = 0, count = llvm::product_of(sizes); member < count; member++) {
    Coordinates receiver;
    int64_t rest = member;
    for (size_t i = group.size(); i-- > 0; rest /= sizes[i])
      receiver[group[i]] = rest % sizes[i];
    Coordinates sender = senderOf(*this, mesh, receiver);
    // Replicas along what becomes free or taken: each sends to one.
    for (auto [free, take] : llvm::zip_equal(freed, taken))
      sender[take] = receiver[free];
    int64_t place = 0;
    for (auto [name, size] : llvm::zip_equal(group, sizes))
      place = place * size + sender[name];
    sources.push_back(place);
  }
  return sources;
}
