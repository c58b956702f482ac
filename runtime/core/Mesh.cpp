//===- Mesh.cpp - Named axes of ranks, and pieces of dimensions -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Groups are found by replacing coordinates, so no table over all ranks exists.
//===----------------------------------------------------------------------===//
#include "runtime/core/Mesh.h"

#include "ptlrt/ptlrt.h"
#include <algorithm>

namespace ptlrt {

int Mesh::ranks() const {
  int64_t product = 1;
  for (const MeshAxis &axis : list)
    product *= axis.size;
  return static_cast<int>(product);
}

int Mesh::find(const std::string &name) const {
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i].name == name)
      return static_cast<int>(i);
  return -1;
}

static int64_t stepOf(const std::vector<MeshAxis> &list, int axis) {
  int64_t step = 1;
  for (size_t i = axis + 1; i < list.size(); ++i)
    step *= list[i].size;
  return step;
}

int64_t Mesh::coordinate(int rank, int axis) const {
  return rank / stepOf(list, axis) % list[axis].size;
}

std::vector<int> Mesh::group(int rank, std::span<const int> along) const {
  int64_t base = rank;
  for (int axis : along)
    base -= coordinate(rank, axis) * stepOf(list, axis);
  std::vector<int> members{static_cast<int>(base)};
  for (int axis : along) {
    std::vector<int> wider;
    for (int member : members)
      for (int64_t c = 0; c < list[axis].size; ++c)
        wider.push_back(static_cast<int>(member + c * stepOf(list, axis)));
    members = std::move(wider);
  }
  return members;
}

std::string Mesh::describe() const {
  std::string text;
  for (const MeshAxis &axis : list)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", axis.name, axis.size);
  return text.empty() ? "one device" : text;
}

int64_t pieceLength(int64_t length, std::span<const int64_t> sizes) {
  for (int64_t size : sizes)
    length = ceilDivide(length, size);
  return length;
}

Extent pieceExtent(int64_t length, std::span<const int64_t> sizes,
                   std::span<const int64_t> coordinates) {
  Extent extent{0, length};
  int64_t block = length;
  for (size_t i = 0; i < sizes.size(); ++i) {
    block = ceilDivide(block, sizes[i]);
    int64_t offset = coordinates[i] * block;
    extent.start += offset;
    extent.valid = std::clamp<int64_t>(extent.valid - offset, 0, block);
  }
  return extent;
}

Extent pieceAt(int64_t length, std::span<const int64_t> sizes, int64_t place) {
  int64_t coordinates[PTLRT_MAX_AXES];
  for (size_t i = sizes.size(); i-- > 0; place /= sizes[i])
    coordinates[i] = place % sizes[i];
  return pieceExtent(length, sizes, {coordinates, sizes.size()});
}

} // namespace ptlrt
