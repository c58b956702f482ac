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

namespace ptlrt {

class Stream {
public:
  Stream() = default;
  /// All of each segment's `in`.
  static Stream whole(const Collective &collective);
  /// Piece `member` of `members`, where it lies in the whole (all-gather: `out`, reduce-scatter:
  /// `in`).
  static Stream inWhole(const Collective &collective, int64_t member, int64_t members);
  /// The same piece where it lies by itself.
  static Stream alone(const Collective &collective, int64_t member, int64_t members);

  int64_t elements() const;
  /// Where elements [from, from + count) lie contiguously in `arena`, or null.
  uint8_t *inPlace(uint8_t *arena, int64_t from, int64_t count) const;
  void pack(const uint8_t *arena, int64_t from, int64_t count, uint8_t *to) const;
  void unpack(uint8_t *arena, int64_t from, int64_t count, const uint8_t *data) const;

private:
  /// Of one segment: `outer` times `length` elements from `start` on, `step` apart.
  struct Stretch {
    Layout layout;
    int64_t outer = 1, start = 0, length = 0, step = 0;
  };
  static Stream pieces(const Collective &collective, int64_t member, int64_t members, bool inWhole);
  /// Visits the contiguous parts of elements [from, from + count): `visit(byte offset, elements)`.
  template <typename Visitor> void walk(int64_t from, int64_t count, Visitor &&visit) const;

  std::vector<Stretch> stretches;
  int64_t size = 4; ///< bytes of an element
};

} // namespace ptlrt

#endif // PTLRT_COMM_MPI_STREAM_H
