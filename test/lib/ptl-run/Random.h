//===- Random.h - Counter-based random numbers ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Philox 4x32-10, keyed by seed and place, counted by step and global index: an
// element's number depends neither on the mesh nor on the order of evaluation.
// Written independently of the compiler and the runtime, on purpose.
//===----------------------------------------------------------------------===//
#ifndef PTLC_TEST_LIB_PTL_RUN_RANDOM_H
#define PTLC_TEST_LIB_PTL_RUN_RANDOM_H

#include "llvm/ADT/StringRef.h"
#include <array>
#include <cstdint>

namespace ptlc::run {

/// Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 10 rounds.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// A stream of numbers by global row-major index.
class RandomStream {
public:
  /// `place` is a weight's path or "part#n" for the n-th random call of a part.
  RandomStream(uint64_t seed, llvm::StringRef place, uint64_t step);

  /// In [0, 1), a multiple of 2^-24.
  double uniform(uint64_t index) const;
  /// Standard normal, by Box-Muller of the words of elements 2k and 2k+1.
  double normal(uint64_t index) const;
  /// Standard normal within two deviations; attempt t draws with step t.
  double truncatedNormal(uint64_t index) const;

private:
  std::array<uint32_t, 4> block(uint64_t index) const;

  std::array<uint32_t, 2> key;
  uint64_t step;
};

} // namespace ptlc::run

#endif // PTLC_TEST_LIB_PTL_RUN_RANDOM_H
