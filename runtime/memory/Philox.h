//===- Philox.h - Random numbers by place and index -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Philox 4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
// easy as 1, 2, 3", 2011). A number is a function of seed, place (the path of a
// weight or of a random call), step and the element's global index, and of
// nothing else: not of the mesh, the order of evaluation or the thread.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_MEMORY_PHILOX_H
#define PTLRT_MEMORY_PHILOX_H

#include <array>
#include <cstdint>
#include <string_view>

namespace ptlrt {

using PhiloxBlock = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

/// Ten rounds over `counter`.
PhiloxBlock philox(PhiloxBlock counter, PhiloxKey key);

/// The numbers of one place.
class RandomStream {
public:
  RandomStream(uint64_t seed, std::string_view place);

  /// The word of element `index` at `step`.
  uint32_t word(uint64_t index, uint64_t step) const;
  /// In [0, 1), with 24 bits.
  double uniform(uint64_t index, uint64_t step) const;
  /// Standard normal, by Box and Muller from the words of elements 2k and 2k + 1.
  double normal(uint64_t index, uint64_t step) const;
  /// The normals of the four elements that share a block, 4 * group and on.
  std::array<double, 4> normals(uint64_t group, uint64_t step) const;
  /// Standard normal within two deviations: the first such among the normals of steps 0, 1, …
  double truncatedNormal(uint64_t index) const;

private:
  PhiloxBlock block(uint64_t index, uint64_t step) const;
  PhiloxKey key;
};

} // namespace ptlrt

#endif // PTLRT_MEMORY_PHILOX_H
