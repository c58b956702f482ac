//===- Tensor.cpp - Where the elements of a logical tensor lie ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Pieces follow from the mesh, the sharding and nested ceil division alone.
//===----------------------------------------------------------------------===//
#include "runtime/core/Tensor.h"

#include <fmt/ranges.h>

namespace ptlrt {

int64_t elementSize(Element element) {
  switch (element) {
  case Element::F32:
  case Element::I32:
    return 4;
  case Element::I64:
    return 8;
  case Element::Byte:
    return 1;
  }
  return 0;
}

const char *elementName(Element element) {
  switch (element) {
  case Element::F32:
    return "float";
  case Element::I32:
    return "int";
  case Element::I64:
    return "64-bit int";
  case Element::Byte:
    return "bool";
  }
  return "";
}

int64_t TensorInfo::elements() const {
  int64_t product = 1;
  for (int64_t size : shape)
    product *= size;
  return product;
}

std::string TensorInfo::describeShape() const {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Piece pieceOf(const TensorInfo &tensor, const Mesh &mesh, int rank) {
  Piece piece;
  piece.rank = static_cast<int>(tensor.shape.size());
  for (int d = 0; d < piece.rank; ++d) {
    std::vector<int64_t> sizes, coordinates;
    if (d < static_cast<int>(tensor.sharding.size()))
      for (int axis : tensor.sharding[d]) {
        sizes.push_back(mesh.size(axis));
        coordinates.push_back(mesh.coordinate(rank, axis));
      }
    piece.global[d] = tensor.shape[d];
    piece.local[d] = pieceLength(tensor.shape[d], sizes);
    piece.extent[d] = pieceExtent(tensor.shape[d], sizes, coordinates);
  }
  return piece;
}

int firstHolder(const TensorInfo &tensor, const Mesh &mesh, int rank) {
  std::vector<int> others;
  for (int axis = 0; axis < static_cast<int>(mesh.axes().size()); ++axis) {
    bool cuts = false;
    for (const std::vector<int> &axes : tensor.sharding)
      cuts |= std::find(axes.begin(), axes.end(), axis) != axes.end();
    if (!cuts)
      others.push_back(axis);
  }
  return mesh.group(rank, others).front();
}

} // namespace ptlrt
