//===- SplitMix.h - Mixing of 64 bits -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Keys of all random numbers are made with these two.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_CORE_SPLITMIX_H
#define PTLRT_CORE_SPLITMIX_H

#include <cstdint>
#include <string_view>

namespace ptlrt {

/// The output of splitmix64 (Steele, Lea and Flood 2014) for state `x`.
constexpr uint64_t splitMix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// FNV-1a over bytes.
constexpr uint64_t fnv1a64(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

} // namespace ptlrt

#endif // PTLRT_CORE_SPLITMIX_H
