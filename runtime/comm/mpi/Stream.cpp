//===- Stream.cpp - A collective's elements, one after the other ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Nothing is tabulated per row: places follow by division.
//===----------------------------------------------------------------------===//
#include "runtime/comm/mpi/Stream.h"

#include <cstring>

namespace ptlrt {

Stream Stream::whole(const Collective &collective) {
  Stream stream;
  stream.size = elementSize(collective.element);
  for (const CommSegment &segment : collective.segments)
    stream.stretches.push_back({segment.in, 1, 0, segment.in.rows * segment.in.cols, 0});
  return stream;
}

Stream Stream::pieces(const Collective &collective, int64_t member, int64_t members, bool inWhole) {
  Stream stream;
  stream.size = elementSize(collective.element);
  bool gathers = collective.kind == CollectiveKind::AllGather;
  for (const CommSegment &segment : collective.segments) {
    int64_t piece = ceilDivide(segment.length, members), start = member * piece;
    int64_t valid = std::clamp<int64_t>(segment.length - start, 0, piece);
    Stretch stretch{gathers == inWhole ? segment.out : segment.in, segment.outer, 0,
                    valid * segment.inner, piece * segment.inner};
    if (inWhole) {
      stretch.start = start * segment.inner;
      stretch.step = segment.length * segment.inner;
    }
    stream.stretches.push_back(stretch);
  }
  return stream;
}

Stream Stream::inWhole(const Collective &collective, int64_t member, int64_t members) {
  return pieces(collective, member, members, true);
}
Stream Stream::alone(const Collective &collective, int64_t member, int64_t members) {
  return pieces(collective, member, members, false);
}

int64_t Stream::elements() const {
  int64_t sum = 0;
  for (const Stretch &stretch : stretches)
    sum += stretch.outer * stretch.length;
  return sum;
}

template <typename Visitor> void Stream::walk(int64_t from, int64_t count, Visitor &&visit) const {
  for (const Stretch &stretch : stretches) {
    int64_t elements = stretch.outer * stretch.length;
    int64_t at = std::max<int64_t>(from, 0), end = std::min(from + count, elements);
    while (at < end) {
      int64_t row = at / stretch.length, column = at % stretch.length;
      int64_t part = std::min(stretch.length - column, end - at);
      forEachPart(stretch.layout, size, stretch.start + row * stretch.step + column, part, visit);
      at += part;
    }
    from -= elements;
    if (from + count <= 0)
      return;
  }
}

uint8_t *Stream::inPlace(uint8_t *arena, int64_t from, int64_t count) const {
  int64_t first = -1, end = -1;
  bool isOne = true;
  walk(from, count, [&](int64_t offset, int64_t elements) {
    isOne &= first < 0 || offset == end;
    first = first < 0 ? offset : first;
    end = offset + elements * size;
  });
  return isOne && first >= 0 ? arena + first : nullptr;
}

void Stream::pack(const uint8_t *arena, int64_t from, int64_t count, uint8_t *to) const {
  walk(from, count, [&](int64_t offset, int64_t elements) {
    std::memcpy(to, arena + offset, elements * size);
    to += elements * size;
  });
}

void Stream::unpack(uint8_t *arena, int64_t from, int64_t count, const uint8_t *data) const {
  walk(from, count, [&](int64_t offset, int64_t elements) {
    std::memcpy(arena + offset, data, elements * size);
    data += elements * size;
  });
}

} // namespace ptlrt
