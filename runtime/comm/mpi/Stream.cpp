//===- Stream.cpp - A collective's elements, one after the other ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Nothing is tabulated per row: places follow by division.
//===----------------------------------------------------------------------===//
#include "runtime/comm/mpi/Stream.h"

#include <cstring>

namespace ptlrt {

Stream Stream::whole(const Collective &collective, bool ofOut) {
  Stream stream;
  stream.size = elementSize(collective.element);
  for (const CommSegment &segment : collective.segments)
    stream.stretches.push_back(
        {ofOut ? segment.out : segment.in, 0, segment.in.rows * segment.in.cols});
  return stream;
}

Stream Stream::pieces(const Collective &collective, int64_t place, std::span<const int64_t> sizes,
                      bool inWhole) {
  Stream stream;
  stream.size = elementSize(collective.element);
  bool gathers = collective.kind == CollectiveKind::AllGather;
  for (const CommSegment &segment : collective.segments) {
    Extent extent = pieceAt(segment.length, sizes, place);
    Stretch stretch{gathers == inWhole ? segment.out : segment.in, 0, extent.valid * segment.inner};
    stretch.outer = segment.outer;
    stretch.outerStep = segment.inner;
    stretch.outerStep *= inWhole ? segment.length : pieceLength(segment.length, sizes);
    stretch.start = inWhole ? extent.start * segment.inner : 0;
    if (!inWhole)
      stretch.layout.offset += place * segment.step;
    stream.stretches.push_back(stretch);
  }
  return stream;
}

Stream Stream::inWhole(const Collective &collective, int64_t place,
                       std::span<const int64_t> sizes) {
  return pieces(collective, place, sizes, true);
}
Stream Stream::alone(const Collective &collective, int64_t place, std::span<const int64_t> sizes) {
  return pieces(collective, place, sizes, false);
}

Stream::Stretch Stream::exchange(const CommSegment &segment, int64_t from, int64_t to,
                                 std::span<const int64_t> sizes, bool atReceiver) {
  bool second = segment.joinsSecond;
  int64_t joined = second ? segment.other : segment.length;
  int64_t cut = second ? segment.length : segment.other;
  Extent theirs = pieceAt(joined, sizes, from), mine = pieceAt(cut, sizes, to);
  // The sender holds a piece of the joined dimension, the receiver one of the cut dimension; where
  // a side has all of a dimension, the part begins where the other side's piece does.
  int64_t joinedSize = atReceiver ? joined : pieceLength(joined, sizes);
  int64_t cutSize = atReceiver ? pieceLength(cut, sizes) : cut;
  int64_t joinedStart = atReceiver ? theirs.start : 0, cutStart = atReceiver ? 0 : mine.start;
  Stretch stretch{atReceiver ? segment.out : segment.in};
  stretch.outer = segment.outer;
  stretch.rows = second ? mine.valid : theirs.valid;
  stretch.middle = segment.middle;
  stretch.length = (second ? theirs.valid : mine.valid) * segment.inner;
  stretch.middleStep = (second ? joinedSize : cutSize) * segment.inner;
  stretch.rowStep = segment.middle * stretch.middleStep;
  stretch.outerStep = (second ? cutSize : joinedSize) * stretch.rowStep;
  stretch.start = (second ? cutStart : joinedStart) * stretch.rowStep +
                  (second ? joinedStart : cutStart) * segment.inner;
  return stretch;
}

Stream Stream::exchanged(const Collective &collective, int64_t from, int64_t to,
                         std::span<const int64_t> sizes, bool atReceiver) {
  Stream stream;
  stream.size = elementSize(collective.element);
  for (const CommSegment &segment : collective.segments)
    stream.stretches.push_back(exchange(segment, from, to, sizes, atReceiver));
  return stream;
}

int64_t Stream::elements() const {
  int64_t sum = 0;
  for (const Stretch &stretch : stretches)
    sum += stretch.elements();
  return sum;
}

template <typename Visitor> void Stream::walk(int64_t from, int64_t count, Visitor &&visit) const {
  for (const Stretch &stretch : stretches) {
    int64_t elements = stretch.elements();
    int64_t at = std::max<int64_t>(from, 0), end = std::min(from + count, elements);
    while (at < end) {
      int64_t column = at % stretch.length;
      int64_t part = std::min(stretch.length - column, end - at);
      forEachPart(stretch.layout, size, stretch.placeOf(at / stretch.length) + column, part, visit);
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
