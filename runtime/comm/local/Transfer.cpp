//===- Transfer.cpp - One rank's part of a collective in shared memory ----===//
// SPDX-License-Identifier: Apache-2.0
//
// Segments are walked in logical order, rows without their padding. An all-reduce
// is shared out by elements over all segments together, so small tensors don't
// make ranks wait for each other.
//===----------------------------------------------------------------------===//
#include "runtime/comm/local/Transfer.h"

#include "runtime/comm/local/Reduce.h"
#include "runtime/device/cpu/Reduce.h"
#include <cstring>

namespace ptlrt {

namespace {

/// Pointers to the same place in several arenas; no allocation for usual groups.
template <typename T> class Places {
public:
  explicit Places(size_t count) : size(count) {
    if (count > kInline)
      more.resize(count);
  }
  T *&operator[](size_t i) { return more.empty() ? few[i] : more[i]; }
  std::span<T *const> all() const { return {more.empty() ? few : more.data(), size}; }

private:
  static constexpr size_t kInline = 64;
  size_t size;
  T *few[kInline];
  std::vector<T *> more;
};

} // namespace

/// Shares are multiples of this many elements, so that ranks don't write to one cache line.
static constexpr int64_t kShareUnit = 16;

static int64_t shareStart(int64_t total, size_t place, size_t members) {
  int64_t units = ceilDivide(total, kShareUnit);
  int64_t start = units * static_cast<int64_t>(place) / static_cast<int64_t>(members) * kShareUnit;
  return std::min(start, total);
}

void Transfer::reduceRun(int64_t offset, int64_t count) {
  int64_t size = elementSize(collective.element);
  auto others = static_cast<int64_t>(members.size()) - 1;
  traffic.read += others * count * size;
  traffic.written += others * count * size;
  bool isFlat = foldSizes.size() < 2 && collective.reduce == ReduceKind::Sum;
  if (collective.element == Element::F32 && isFlat) {
    Places<float> places(members.size());
    for (size_t m = 0; m < members.size(); ++m)
      places[m] = reinterpret_cast<float *>(arenaOf(m) + offset);
    cpu::reduceInto(cpu::Combine::Sum, places.all().data(), others + 1, 0, count);
    return;
  }
  Places<uint8_t> places(members.size());
  for (int64_t done = 0; done < count;) {
    int64_t part = std::min(kReduceBlock, count - done);
    for (size_t m = 0; m < members.size(); ++m)
      places[m] = arenaOf(m) + offset + done * size;
    reduceBlock(collective.reduce, collective.element, foldSizes, places.all(), places.all(), part);
    done += part;
  }
}

void Transfer::allReduce() {
  int64_t total = 0, size = elementSize(collective.element);
  for (const CommSegment &segment : collective.segments)
    total += segment.in.rows * segment.in.cols;
  int64_t begin = shareStart(total, place, members.size());
  int64_t end = shareStart(total, place + 1, members.size());
  int64_t position = 0;
  for (const CommSegment &segment : collective.segments) {
    int64_t elements = segment.in.rows * segment.in.cols;
    int64_t from = std::max<int64_t>(begin - position, 0);
    int64_t to = std::min(end - position, elements);
    if (from < to)
      forEachPart(segment.in, size, from, to - from,
                  [&](int64_t offset, int64_t count) { reduceRun(offset, count); });
    position += elements;
  }
}

/// Copies elements from `from` of a member's `in` to `to` of this rank's `out`.
void Transfer::copyFrom(const CommSegment &segment, size_t member, int64_t from, int64_t to,
                        int64_t count) {
  int64_t size = elementSize(collective.element);
  forEachPair(segment.in, from, segment.out, to, size, count,
              [&](int64_t source, int64_t target, int64_t elements) {
                source += static_cast<int64_t>(member) * segment.step;
                if (member == place && source == target)
                  return;
                std::memcpy(arenaOf(place) + target, arenaOf(member) + source, elements * size);
                traffic.read += member == place ? 0 : elements * size;
              });
}

void Transfer::gatherFrom(const CommSegment &segment, size_t member) {
  int64_t piece = pieceLength(segment.length, sizes);
  Extent extent = pieceAt(segment.length, sizes, member);
  for (int64_t o = 0; extent.valid > 0 && o < segment.outer; ++o)
    copyFrom(segment, member, o * piece * segment.inner,
             (o * segment.length + extent.start) * segment.inner, extent.valid * segment.inner);
}

/// Takes this rank's piece of the dimension that is cut from what a member holds of the joined one.
void Transfer::exchangeWith(const CommSegment &segment, size_t member) {
  int64_t joined = segment.joinsSecond ? segment.other : segment.length;
  int64_t cut = segment.joinsSecond ? segment.length : segment.other;
  int64_t joinedPiece = pieceLength(joined, sizes), cutPiece = pieceLength(cut, sizes);
  Extent theirs = pieceAt(joined, sizes, member), mine = pieceAt(cut, sizes, place);
  if (theirs.valid <= 0 || mine.valid <= 0)
    return;
  // Runs are along the second of the two dimensions, with what is inside of it.
  bool second = segment.joinsSecond;
  int64_t rows = second ? mine.valid : theirs.valid, run = second ? theirs.valid : mine.valid;
  int64_t inFirst = second ? cut : joinedPiece, inSecond = second ? joinedPiece : cut;
  int64_t outFirst = second ? cutPiece : joined, outSecond = second ? joined : cutPiece;
  for (int64_t o = 0; o < segment.outer; ++o)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t m = 0; m < segment.middle; ++m) {
        int64_t inRow = second ? mine.start + row : row;
        int64_t outRow = second ? row : theirs.start + row;
        int64_t from = ((o * inFirst + inRow) * segment.middle + m) * inSecond;
        int64_t to = ((o * outFirst + outRow) * segment.middle + m) * outSecond;
        from += second ? 0 : mine.start;
        to += second ? theirs.start : 0;
        copyFrom(segment, member, from * segment.inner, to * segment.inner, run * segment.inner);
      }
}

void Transfer::allToAll() {
  for (const CommSegment &segment : collective.segments)
    for (size_t member = 0; member < members.size(); ++member)
      exchangeWith(segment, member);
}

void Transfer::permute() {
  for (const CommSegment &segment : collective.segments)
    copyFrom(segment, static_cast<size_t>(collective.sources[place]), 0, 0,
             segment.in.rows * segment.in.cols);
}

void Transfer::allGather() {
  for (const CommSegment &segment : collective.segments)
    for (size_t member = 0; member < members.size(); ++member)
      gatherFrom(segment, member);
}

void Transfer::scatterRun(const CommSegment &segment, int64_t from, int64_t to, int64_t count) {
  int64_t size = elementSize(collective.element);
  Places<uint8_t> places(members.size());
  forEachPair(segment.in, from, segment.out, to, size, count,
              [&](int64_t source, int64_t result, int64_t elements) {
                result += static_cast<int64_t>(place) * segment.step;
                for (int64_t done = 0; done < elements;) {
                  int64_t part = std::min(kReduceBlock, elements - done);
                  for (size_t m = 0; m < members.size(); ++m)
                    places[m] = arenaOf(m) + source + done * size;
                  uint8_t *target[] = {arenaOf(place) + result + done * size};
                  reduceBlock(collective.reduce, collective.element, foldSizes, places.all(),
                              target, part);
                  traffic.read += (static_cast<int64_t>(members.size()) - 1) * part * size;
                  done += part;
                }
              });
}

void Transfer::reduceScatter() {
  for (const CommSegment &segment : collective.segments) {
    int64_t piece = pieceLength(segment.length, sizes);
    Extent extent = pieceAt(segment.length, sizes, place);
    for (int64_t o = 0; extent.valid > 0 && o < segment.outer; ++o)
      scatterRun(segment, (o * segment.length + extent.start) * segment.inner,
                 o * piece * segment.inner, extent.valid * segment.inner);
  }
}

void Transfer::broadcast() {
  auto root = static_cast<size_t>(collective.root);
  if (place == root)
    return;
  int64_t size = elementSize(collective.element);
  for (const CommSegment &segment : collective.segments)
    forEachPart(segment.in, size, 0, segment.in.rows * segment.in.cols,
                [&](int64_t offset, int64_t count) {
                  std::memcpy(arenaOf(place) + offset, arenaOf(root) + offset, count * size);
                  traffic.read += count * size;
                });
}

} // namespace ptlrt
