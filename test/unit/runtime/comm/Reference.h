//===- Reference.h - Collectives as plain loops ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each rank makes the inputs of its whole group by itself, and combines them in
// ascending order, the last axis first.
//===----------------------------------------------------------------------===//
#ifndef PTLC_TEST_UNIT_RUNTIME_COMM_REFERENCE_H
#define PTLC_TEST_UNIT_RUNTIME_COMM_REFERENCE_H

#include "runtime/comm/Collective.h"
#include "runtime/core/Bfloat16.h"
#include <algorithm>
#include <cstring>

namespace ptlrt::test {

using Bytes = std::vector<uint8_t>;

/// Fills `arena` with values that sums of a few ranks neither overflow nor make infinite.
inline void fill(Bytes &arena, Element element, int rank) {
  uint64_t state = 0x9e3779b97f4a7c15u * static_cast<uint64_t>(rank + 1);
  auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int32_t>(state >> 48) - 0x8000;
  };
  auto each = [&](auto sample) {
    using T = decltype(sample);
    for (size_t i = 0; i + sizeof(T) <= arena.size(); i += sizeof(T)) {
      T value = static_cast<T>(static_cast<T>(next()) / static_cast<T>(3));
      std::memcpy(arena.data() + i, &value, sizeof value);
    }
  };
  auto halves = [&] {
    for (size_t i = 0; i + 2 <= arena.size(); i += 2) {
      uint16_t value = toBfloat16(static_cast<float>(next()) / 3);
      std::memcpy(arena.data() + i, &value, sizeof value);
    }
  };
  switch (element) {
  case Element::F32:
    return each(float());
  case Element::I32:
    return each(int32_t());
  case Element::I64:
    return each(int64_t());
  case Element::Byte:
    return each(uint8_t());
  case Element::BF16:
    return halves();
  }
}

template <typename T> void combineAs(ReduceKind kind, uint8_t *into, const uint8_t *other) {
  T a, b;
  std::memcpy(&a, into, sizeof a);
  std::memcpy(&b, other, sizeof b);
  a = kind == ReduceKind::Sum   ? static_cast<T>(a + b)
      : kind == ReduceKind::Max ? std::max(a, b)
                                : std::min(a, b);
  std::memcpy(into, &a, sizeof a);
}

inline void combine(const Collective &collective, uint8_t *into, const uint8_t *other) {
  switch (collective.element) {
  case Element::F32:
    return combineAs<float>(collective.reduce, into, other);
  case Element::I32:
    return combineAs<int32_t>(collective.reduce, into, other);
  case Element::I64:
    return combineAs<int64_t>(collective.reduce, into, other);
  case Element::Byte:
    return combineAs<uint8_t>(collective.reduce, into, other);
  case Element::BF16: // widened
    return combineAs<float>(collective.reduce, into, other);
  }
}

/// A collective on a mesh, and what it must do to the arena of one rank.
class Reference {
public:
  Reference(const Collective &collective, const Mesh &mesh, int rank, int64_t bytes)
      : collective(collective), mesh(mesh), size(elementSize(collective.element)),
        foldSizes(collective.foldSizes(mesh)), group{mesh.group(rank, collective.axes)} {
    for (int axis : collective.axes)
      sizes.push_back(mesh.size(axis));
    if (collective.kind == CollectiveKind::AllReduce)
      std::sort(group.begin(), group.end());
    place = std::find(group.begin(), group.end(), rank) - group.begin();
    for (int member : group) {
      inputs.emplace_back(bytes);
      fill(inputs.back(), collective.element, member);
    }
    expected = inputs[place];
    for (const CommSegment &segment : collective.segments)
      addSegment(segment);
  }

  const Bytes &input() const { return inputs[place]; }
  const Bytes &result() const { return expected; }
  int64_t members() const { return static_cast<int64_t>(group.size()); }

  /// What a member of the group holds of a dimension.
  Extent pieceAt(int64_t length, int64_t member) const {
    std::vector<int64_t> coordinates;
    for (int axis : collective.axes)
      coordinates.push_back(mesh.coordinate(group[member], axis));
    return pieceExtent(length, sizes, coordinates);
  }

  int64_t place; ///< of the rank in its group

private:
  int64_t at(const Layout &layout, int64_t i) const {
    return layout.offset + size * (i / layout.cols * layout.stride + i % layout.cols);
  }
  void copy(int64_t to, int64_t member, int64_t from) {
    std::memcpy(&expected[to], &inputs[member][from], size);
  }
  static uint16_t rounded(const uint8_t *wide) {
    float value;
    std::memcpy(&value, wide, sizeof value);
    return toBfloat16(value);
  }
  void load(uint8_t *to, const uint8_t *from) const {
    if (collective.element != Element::BF16) {
      std::memcpy(to, from, size);
      return;
    }
    uint16_t half;
    std::memcpy(&half, from, sizeof half);
    float wide = fromBfloat16(half);
    std::memcpy(to, &wide, sizeof wide);
  }
  /// One element of the members from `first` on that differ on the axes from `axis` on. Of bf16 it
  /// is f32, rounded once per axis.
  void fold(uint8_t *to, size_t axis, int64_t first, int64_t from) const {
    if (axis == foldSizes.size()) {
      load(to, &inputs[first][from]);
      return;
    }
    int64_t step = 1;
    for (size_t inner = axis + 1; inner < foldSizes.size(); ++inner)
      step *= foldSizes[inner];
    fold(to, axis + 1, first, from);
    for (int64_t m = 1; m < foldSizes[axis]; ++m) {
      uint8_t other[8];
      fold(other, axis + 1, first + m * step, from);
      combine(collective, to, other);
    }
    if (collective.element == Element::BF16) {
      uint16_t half = rounded(to);
      load(to, reinterpret_cast<const uint8_t *>(&half));
    }
  }
  void reduce(int64_t to, int64_t from) {
    uint8_t sum[8];
    fold(sum, 0, 0, from);
    if (collective.element == Element::BF16) {
      uint16_t half = rounded(sum);
      std::memcpy(sum, &half, sizeof half);
    }
    std::memcpy(&expected[to], sum, size);
  }
  void addSegment(const CommSegment &s) {
    if (collective.kind == CollectiveKind::AllToAll)
      addExchange(s);
    else if (collective.kind == CollectiveKind::Permute)
      for (int64_t i = 0; i < s.in.rows * s.in.cols; ++i)
        copy(at(s.out, i), collective.sources[place], at(s.in, i));
    else if (collective.kind == CollectiveKind::AllReduce ||
             collective.kind == CollectiveKind::Broadcast)
      for (int64_t i = 0; i < s.in.rows * s.in.cols; ++i) {
        int64_t offset = at(s.in, i);
        if (collective.kind == CollectiveKind::AllReduce)
          reduce(offset, offset);
        else
          copy(offset, collective.root, offset);
      }
    else
      addPieces(s);
  }
  /// Which member holds each element of a cut dimension, and its index there.
  std::vector<std::pair<int64_t, int64_t>> ownersOf(int64_t length) const {
    std::vector<std::pair<int64_t, int64_t>> owners(length);
    for (int64_t member = 0; member < members(); ++member) {
      Extent extent = pieceAt(length, member);
      for (int64_t i = 0; i < extent.valid; ++i)
        owners[extent.start + i] = {member, i};
    }
    return owners;
  }
  void addPieces(const CommSegment &s) {
    int64_t piece = pieceLength(s.length, sizes);
    auto owners = ownersOf(s.length);
    for (int64_t i = 0; i < s.outer * s.length * s.inner; ++i) {
      int64_t o = i / (s.length * s.inner), l = i / s.inner % s.length, e = i % s.inner;
      int64_t inPiece = (o * piece + owners[l].second) * s.inner + e;
      if (collective.kind == CollectiveKind::AllGather)
        copy(at(s.out, i), owners[l].first, at(s.in, inPiece) + owners[l].first * s.step);
      else if (owners[l].first == place)
        reduce(at(s.out, inPiece) + place * s.step, at(s.in, i));
    }
  }
  /// Walks [outer, length, middle, other, inner]; `in` and `out` have one of the two dimensions
  /// cut.
  void addExchange(const CommSegment &s) {
    auto rows = ownersOf(s.length), columns = ownersOf(s.other);
    int64_t rowPiece = pieceLength(s.length, sizes), columnPiece = pieceLength(s.other, sizes);
    for (int64_t i = 0; i < s.whole(); ++i) {
      int64_t e = i % s.inner, c = i / s.inner % s.other, m = i / s.inner / s.other % s.middle;
      int64_t r = i / s.inner / s.other / s.middle % s.length;
      int64_t o = i / s.inner / s.other / s.middle / s.length;
      int64_t cutRows =
          (((o * rowPiece + rows[r].second) * s.middle + m) * s.other + c) * s.inner + e;
      int64_t cutColumns =
          (((o * s.length + r) * s.middle + m) * columnPiece + columns[c].second) * s.inner + e;
      int64_t owner = s.joinsSecond ? rows[r].first : columns[c].first;
      if (owner == place)
        copy(at(s.out, s.joinsSecond ? cutRows : cutColumns),
             s.joinsSecond ? columns[c].first : rows[r].first,
             at(s.in, s.joinsSecond ? cutColumns : cutRows));
    }
  }

  const Collective &collective;
  const Mesh &mesh;
  int64_t size;
  std::vector<int64_t> sizes; ///< of the axes
  std::vector<int64_t> foldSizes;
  std::vector<int> group;
  std::vector<Bytes> inputs;
  Bytes expected;
};

} // namespace ptlrt::test

#endif // PTLC_TEST_UNIT_RUNTIME_COMM_REFERENCE_H
