//===- Mesh.cpp - Meshes, shardings and layouts of cut dimensions ---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Sharding/Mesh.h"

#include <algorithm>

using namespace ptlc::sharding;
using llvm::ArrayRef;
using llvm::SmallVector;

int64_t Mesh::ranks() const {
  int64_t product = 1;
  for (const Axis &axis : axes)
    product *= axis.size;
  return product;
}

int64_t Mesh::product(ArrayRef<AxisId> list) const {
  int64_t result = 1;
  for (AxisId axis : list)
    result *= axes[axis].size;
  return result;
}

int Mesh::find(llvm::StringRef name) const {
  for (size_t i = 0; i < axes.size(); i++)
    if (axes[i].name == name)
      return static_cast<int>(i);
  return -1;
}

double Mesh::cost(double bytes, ArrayRef<AxisId> list) const {
  double weight = 0, latency = 0;
  for (AxisId axis : list) {
    weight = std::max(weight, axes[axis].weight);
    latency = std::max(latency, axes[axis].latency);
  }
  return bytes * weight + latency;
}

AxisSet ptlc::sharding::setOf(ArrayRef<AxisId> list) {
  AxisSet set = 0;
  for (AxisId axis : list)
    set |= axisBit(axis);
  return set;
}

bool Sharding::operator<(const Sharding &other) const {
  if (partial != other.partial)
    return partial < other.partial;
  if (partial && kind != other.kind)
    return kind < other.kind;
  if (dims.size() != other.dims.size())
    return dims.size() < other.dims.size();
  for (size_t i = 0; i < dims.size(); i++)
    if (dims[i] != other.dims[i])
      return std::lexicographical_compare(dims[i].begin(), dims[i].end(), other.dims[i].begin(),
                                          other.dims[i].end());
  return false;
}

AxisSet Sharding::used() const {
  AxisSet set = 0;
  for (const AxisList &list : dims)
    set |= setOf(list);
  return set;
}

Sharding Sharding::withDim(size_t dim, AxisList list) const {
  Sharding result = *this;
  result.dims[dim] = std::move(list);
  return result;
}

Sharding Sharding::withPartial(AxisSet set) const {
  Sharding result = *this;
  result.partial = set;
  if (!set)
    result.kind = Fold::Sum;
  return result;
}

static SmallVector<int64_t, 4> sizesOf(const Mesh &mesh, ArrayRef<AxisId> list) {
  SmallVector<int64_t, 4> sizes;
  for (AxisId axis : list)
    sizes.push_back(mesh[axis].size);
  return sizes;
}

SmallVector<int64_t, 4> ptlc::sharding::blockLengths(const Mesh &mesh, int64_t n,
                                                     ArrayRef<AxisId> list) {
  return spmd::nestedBlocks(n, sizesOf(mesh, list));
}

int64_t ptlc::sharding::localLength(const Mesh &mesh, int64_t n, ArrayRef<AxisId> list) {
  return blockLengths(mesh, n, list).back();
}

bool ptlc::sharding::isUneven(const Mesh &mesh, int64_t n, ArrayRef<AxisId> list) {
  return localLength(mesh, n, list) * mesh.product(list) != n;
}

SmallVector<int64_t, 4> ptlc::sharding::localShape(const Mesh &mesh, ArrayRef<int64_t> shape,
                                                   const Sharding &sharding) {
  SmallVector<int64_t, 4> local;
  for (size_t i = 0; i < shape.size(); i++)
    local.push_back(localLength(mesh, shape[i], sharding.dims[i]));
  return local;
}

Extent ptlc::sharding::extentOf(const Mesh &mesh, int64_t n, ArrayRef<AxisId> list,
                                ArrayRef<int64_t> coords) {
  return spmd::shardExtent(n, sizesOf(mesh, list), coords);
}

SmallVector<Extent> ptlc::sharding::allExtents(const Mesh &mesh, int64_t n, ArrayRef<AxisId> list) {
  SmallVector<Extent> extents;
  SmallVector<int64_t> coords(list.size(), 0);
  for (int64_t count = mesh.product(list); count > 0; count--) {
    extents.push_back(extentOf(mesh, n, list, coords));
    for (size_t i = list.size(); i-- > 0;) {
      if (++coords[i] < mesh[list[i]].size)
        break;
      coords[i] = 0;
    }
  }
  return extents;
}

std::string ptlc::sharding::toString(const Mesh &mesh, const Sharding &sharding) {
  std::string text = "[";
  for (size_t i = 0; i < sharding.dims.size(); i++) {
    const AxisList &list = sharding.dims[i];
    text += i ? ", " : "";
    if (list.empty())
      text += "-";
    for (size_t j = 0; j < list.size(); j++)
      text += (list.size() > 1 && j == 0 ? "(" : j ? " " : "") + mesh[list[j]].name;
    text += list.size() > 1 ? ")" : "";
  }
  text += "]";
  if (!sharding.partial)
    return text;
  static constexpr const char *kNames[] = {" sum{", " max{", " min{"};
  text += kNames[static_cast<size_t>(sharding.kind)];
  bool first = true;
  for (AxisId axis = 0; axis < mesh.size(); axis++)
    if (sharding.partial & axisBit(axis)) {
      text += (first ? "" : ",") + mesh[axis].name;
      first = false;
    }
  return text + "}";
}
