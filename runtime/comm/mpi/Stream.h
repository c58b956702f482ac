//===- Stream.h - A collective's elements, one after the other ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Messages need contiguous bytes. A stream numbers the elements that one rank
// sends or receives, over all segments and without padding; any stretch of it is
// copied to or from the arena, or used in place where it is contiguous there.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_COMM_MPI_STREAM_H
#define PTLRT_COMM_MPI_STREAM_H

#include "runtime/comm/Collective.h"
#include <span>

namespace ptlrt {

class Stream {
public:
  Stream() = default;
  /// All of each segment's `in`, or `out`.
  static Stream whole(const Collective &collective, bool ofOut = false);
  /// The piece of the member at `place`, where it lies in the whole (all-gather: `out`,
  /// reduce-scatter: `in`). `sizes` are those of the group's axes, here and below.
  static Stream inWhole(const Collective &collective, int64_t place,
                        std::span<const int64_t> sizes);
  /// The same piece where it lies by itself.
  static Stream alone(const Collective &collective, int64_t place, std::span<const int64_t> sizes);
  /// What the member at `from` has for the one at `to` in an all-to-all, where it lies in `in` of
  /// the first, or in `out` of the second.
  static Stream exchanged(const Collective &collective, int64_t from, int64_t to,
                          std::span<const int64_t> sizes, bool atReceiver);

  int64_t elements() const;
  /// Where elements [from, from + count) lie contiguously in `arena`, or null.
  uint8_t *inPlace(uint8_t *arena, int64_t from, int64_t count) const;
  void pack(const uint8_t *arena, int64_t from, int64_t count, uint8_t *to) const;
  void unpack(uint8_t *arena, int64_t from, int64_t count, const uint8_t *data) const;

private:
  /// Of one segment: `outer` x `rows` x `middle` times `length` elements from `start` on, so many
  /// elements apart.
  struct Stretch {
    Layout layout;
    int64_t start = 0, length = 0;
    int64_t outer = 1, rows = 1, middle = 1;
    int64_t outerStep = 0, rowStep = 0, middleStep = 0;

    int64_t elements() const { return outer * rows * middle * length; }
    int64_t placeOf(int64_t run) const {
      return start + run / (rows * middle) * outerStep + run / middle % rows * rowStep +
             run % middle * middleStep;
    }
  };
  static Stream pieces(const Collective &collective, int64_t place, std::span<const int64_t> sizes,
                       bool inWhole);
  static Stretch exchange(const CommSegment &segment, int64_t from, int64_t to,
                          std::span<const int64_t> sizes, bool atReceiver);
  /// Visits the contiguous parts of elements [from, from + count): `visit(byte offset, elements)`.
  template <typename Visitor> void walk(int64_t from, int64_t count, Visitor &&visit) const;

  std::vector<Stretch> stretches;
  int64_t size = 4; ///< bytes of an element
};

} // namespace ptlrt

#endif // PTLRT_COMM_MPI_STREAM_H
