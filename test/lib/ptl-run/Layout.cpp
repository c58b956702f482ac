//===- Layout.cpp - Where a rank's piece of a tensor lies -----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/lib/ptl-run/Layout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace ptlc::run {

int64_t Mesh::ranks() const {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

int64_t Mesh::size(Name axis) const {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] == axis)
      return sizes[i];
  return 1;
}

int64_t Mesh::coordinate(int64_t rank, Name axis) const {
  for (size_t i = axes.size(); i-- > 0; rank /= sizes[i])
    if (axes[i] == axis)
      return rank % sizes[i];
  return 0;
}

llvm::SmallVector<int64_t> Mesh::group(int64_t rank, llvm::ArrayRef<Name> along) const {
  llvm::SmallVector<int64_t> members = {rank};
  for (Name axis : along) {
    int64_t stride = 1;
    for (size_t i = axes.size(); i-- > 0 && axes[i] != axis;)
      stride *= sizes[i];
    llvm::SmallVector<int64_t> wider;
    for (int64_t member : members)
      for (int64_t c = 0; c < size(axis); ++c)
        wider.push_back(member + (c - coordinate(member, axis)) * stride);
    members = wider;
  }
  return members;
}

Piece piece(int64_t whole, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> coordinates) {
  Piece result{whole, 0, whole};
  for (size_t i = 0; i < sizes.size(); ++i) {
    result.size = (result.size + sizes[i] - 1) / sizes[i];
    int64_t offset = coordinates[i] * result.size;
    result.start += offset;
    result.valid = std::clamp<int64_t>(result.valid - offset, 0, result.size);
  }
  return result;
}

std::vector<int64_t> globalIndices(const Mesh &mesh, const Placement &placement, Name name,
                                   size_t dim, int64_t whole, int64_t rank) {
  Sizes sizes, coordinates;
  int64_t pieces = name == placement.microDim ? placement.pieces : 1;
  if (pieces > 1) {
    sizes.push_back(pieces);
    coordinates.push_back(0);
  }
  if (dim < placement.sharding.dims.size())
    for (Name axis : placement.sharding.dims[dim]) {
      sizes.push_back(mesh.size(axis));
      coordinates.push_back(mesh.coordinate(rank, axis));
    }
  std::vector<int64_t> indices;
  for (int64_t k = 0; k < pieces; ++k) {
    if (pieces > 1)
      coordinates[0] = k;
    Piece here = piece(whole, sizes, coordinates);
    for (int64_t i = 0; i < here.size; ++i)
      indices.push_back(i < here.valid ? here.start + i : -1);
  }
  return indices;
}

/// Global row-major index of each local element, -1 for padding; an error if the local sizes are
/// not those that the placement says.
static llvm::Expected<std::vector<int64_t>> places(const Mesh &mesh, const Placement &placement,
                                                   const Type &global, const Type &local,
                                                   int64_t rank) {
  std::vector<int64_t> result = {0};
  for (size_t dim = 0; dim < global.sizes.size(); ++dim) {
    std::vector<int64_t> indices =
        globalIndices(mesh, placement, dim < local.names.size() ? local.names[dim] : Name(), dim,
                      global.sizes[dim], rank);
    if (static_cast<int64_t>(indices.size()) != local.sizes[dim])
      return makeError("dimension " + llvm::Twine(dim) + " of " + global.str() +
                       " should have local size " + llvm::Twine(indices.size()) + ", has " +
                       llvm::Twine(local.sizes[dim]));
    std::vector<int64_t> wider;
    wider.reserve(result.size() * indices.size());
    for (int64_t outer : result)
      for (int64_t index : indices)
        wider.push_back(outer < 0 || index < 0 ? -1 : outer * global.sizes[dim] + index);
    result = std::move(wider);
  }
  return result;
}

llvm::Expected<Tensor> distribute(const Mesh &mesh, const Placement &placement,
                                  const Tensor &global, const Type &local, int64_t rank) {
  auto where = places(mesh, placement, global.type(), local, rank);
  if (!where)
    return where.takeError();
  bool first = llvm::all_of(placement.sharding.partial,
                            [&](Name axis) { return mesh.coordinate(rank, axis) == 0; });
  bool empty = !first && placement.sharding.kind == Fold::Sum;
  Tensor result(local, poison());
  double *out = result.mutableData();
  for (int64_t i = 0; i < result.count(); ++i)
    if ((*where)[i] >= 0)
      out[i] = empty ? 0 : global[(*where)[i]];
  return result;
}

static bool sameBits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

/// What the ranks of the group of `rank` hold together.
static Tensor folded(const Mesh &mesh, const Sharding &sharding, llvm::ArrayRef<Tensor> locals,
                     int64_t rank) {
  llvm::SmallVector<int64_t> members = mesh.group(rank, sharding.partial);
  llvm::sort(members);
  Tensor result = locals[members[0]];
  double *out = result.mutableData();
  for (int64_t member : llvm::drop_begin(members))
    for (int64_t i = 0; i < result.count(); ++i)
      out[i] = combine(sharding.kind, out[i], locals[member][i]);
  return result;
}

llvm::Expected<Tensor> collect(const Mesh &mesh, const Placement &placement,
                               llvm::ArrayRef<Tensor> locals, const Type &global) {
  Tensor result(global, poison());
  std::vector<int64_t> owner(result.count(), -1);
  double *out = result.mutableData();
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    auto where = places(mesh, placement, global, locals[rank].type(), rank);
    if (!where)
      return where.takeError();
    Tensor local = folded(mesh, placement.sharding, locals, rank);
    for (int64_t i = 0; i < local.count(); ++i) {
      int64_t at = (*where)[i];
      if (at < 0)
        continue;
      bool junk = std::isnan(local[i]) && std::isnan(out[at]);
      if (owner[at] >= 0 && !junk && !sameBits(out[at], local[i]))
        return makeError("replicas differ: element " + llvm::Twine(at) + " of " + global.str() +
                         " is " + number(out[at]) + " on rank " + llvm::Twine(owner[at]) + " and " +
                         number(local[i]) + " on rank " + llvm::Twine(rank));
      if (owner[at] < 0)
        owner[at] = rank;
      out[at] = local[i];
    }
  }
  return result;
}

} // namespace ptlc::run
