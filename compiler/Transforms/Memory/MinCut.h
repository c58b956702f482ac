//===- MinCut.h - The cheapest values to keep -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Values depend on values. Some must be kept or are there anyway, some are needed;
// every other needed value can be computed from those that are kept. The cheapest
// choice is a minimum cut of the graph with each value split in two (Ford and
// Fulkerson; augmenting paths are shortest, as Edmonds and Karp have it: at most
// nodes * edges of them, in practice one per kept value).
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_MEMORY_MINCUT_H
#define PTLC_COMPILER_TRANSFORMS_MEMORY_MINCUT_H

#include "llvm/ADT/BitVector.h"
#include <cstdint>
#include <vector>

namespace ptlc::memory {

class MinCut {
public:
  static constexpr int64_t kInfinite = INT64_MAX / 4;

  /// Adds a value that costs `cost` to keep (kInfinite: it can't be kept); returns its number.
  unsigned addValue(int64_t cost);
  /// `user` can only be computed where `operand` is at hand.
  void addUse(unsigned operand, unsigned user);
  /// The value can't be computed: it is kept if anything needs it.
  void addRoot(unsigned value);
  void addNeeded(unsigned value);

  /// Returns which values to keep: of the cheapest choices the one nearest to what is needed.
  llvm::BitVector solve();

private:
  struct Edge {
    unsigned to;
    int64_t capacity;
  };
  void addEdge(unsigned from, unsigned to, int64_t capacity);
  bool augment();
  llvm::BitVector reachesSink() const;
  static unsigned inOf(unsigned value) { return 2 + 2 * value; }
  static unsigned outOf(unsigned value) { return 3 + 2 * value; }
  static constexpr unsigned kSource = 0, kSink = 1;

  std::vector<Edge> edges;                        ///< each followed by its reverse
  std::vector<std::vector<unsigned>> outgoing{2}; ///< edges by node
};

} // namespace ptlc::memory

#endif // PTLC_COMPILER_TRANSFORMS_MEMORY_MINCUT_H
