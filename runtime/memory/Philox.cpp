//===- Philox.cpp - Random numbers by place and index ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The key is the halves of splitmix64(seed xor fnv1a64(place)), the counter is
// (index / 4, step), the word is index mod 4.
//===----------------------------------------------------------------------===//
#include "runtime/memory/Philox.h"

#include "runtime/core/SplitMix.h"
#include <cmath>
#include <numbers>

namespace ptlrt {

PhiloxBlock philox(PhiloxBlock c, PhiloxKey k) {
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t{0xD2511F53} * c[0], b = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(a)};
    k[0] += 0x9E3779B9;
    k[1] += 0xBB67AE85;
  }
  return c;
}

RandomStream::RandomStream(uint64_t seed, std::string_view place) {
  uint64_t mixed = splitMix(seed ^ fnv1a64(place));
  key = {static_cast<uint32_t>(mixed), static_cast<uint32_t>(mixed >> 32)};
}

PhiloxBlock RandomStream::block(uint64_t index, uint64_t step) const {
  uint64_t group = index / 4;
  return philox({static_cast<uint32_t>(group), static_cast<uint32_t>(group >> 32),
                 static_cast<uint32_t>(step), static_cast<uint32_t>(step >> 32)},
                key);
}

uint32_t RandomStream::word(uint64_t index, uint64_t step) const {
  return block(index, step)[index % 4];
}

double RandomStream::uniform(uint64_t index, uint64_t step) const {
  return (word(index, step) >> 8) * 0x1p-24;
}

std::array<double, 4> RandomStream::normals(uint64_t group, uint64_t step) const {
  PhiloxBlock words = block(4 * group, step);
  std::array<double, 4> values;
  for (int pair = 0; pair < 4; pair += 2) {
    double u1 = (words[pair] + 1.0) * 0x1p-32, u2 = words[pair + 1] * 0x1p-32;
    double radius = std::sqrt(-2 * std::log(u1)), angle = 2 * std::numbers::pi * u2;
    values[pair] = radius * std::cos(angle);
    values[pair + 1] = radius * std::sin(angle);
  }
  return values;
}

double RandomStream::normal(uint64_t index, uint64_t step) const {
  return normals(index / 4, step)[index % 4];
}

double RandomStream::truncatedNormal(uint64_t index) const {
  // 4.6 % of the draws are rejected, so this ends; the bound only guards the loop.
  for (uint64_t attempt = 0; attempt < 1000; ++attempt)
    if (double value = normal(index, attempt); std::abs(value) <= 2)
      return value;
  return 0;
}

} // namespace ptlrt
