//===- Permutation.h - A shuffled order without a table -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A keyed permutation of [0, n): a Feistel network over the next even number of
// bits, walked until it lands inside ("cycle walking", Black and Rogaway 2002).
// The same key gives the same order on every mesh, machine and thread.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_DATA_PERMUTATION_H
#define PTLRT_DATA_PERMUTATION_H

#include <cstdint>

namespace ptlrt {

class Permutation {
public:
  /// A permutation of [0, n), n >= 1; `seed` and `pass` are the key.
  Permutation(uint64_t n, uint64_t seed, uint64_t pass);
  uint64_t operator()(uint64_t position) const;

private:
  static constexpr int kRounds = 8;
  uint64_t size;
  int halfBits;
  uint64_t mask;
  uint64_t keys[kRounds];
};

} // namespace ptlrt

#endif // PTLRT_DATA_PERMUTATION_H
