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
  case Element::BF16:
    return 2;
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
  case Element::BF16:
    return "bf16";
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

Window windowOf(const Split &split, const Mesh &mesh, int rank) {
  if (split.axes.empty())
    return {};
  int64_t place = 0;
  for (int axis : split.axes)
    place = place * mesh.size(axis) + mesh.coordinate(rank, axis);
  int64_t begin = place * split.part;
  return {split.offset + begin, split.offset + begin + split.part, split.packed ? begin : 0};
}

ByteRange heldBytes(const Storage &storage, int64_t size, const Mesh &mesh, int rank) {
  const Layout &layout = storage.layout;
  Window window = windowOf(storage.split, mesh, rank);
  int64_t end = layout.offset + ((layout.rows - 1) * layout.stride + layout.cols) * size;
  int64_t from = std::max(layout.offset, window.begin), to = std::min(end, window.end);
  return {from - window.shift, std::max<int64_t>(to - from, 0)};
}

} // namespace ptlrt
