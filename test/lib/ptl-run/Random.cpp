//===- Random.cpp - Counter-based random numbers --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/lib/ptl-run/Random.h"

#include <cmath>

namespace ptlc::run {

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t left = uint64_t(0xD2511F53) * counter[0];
    uint64_t right = uint64_t(0xCD9E8D57) * counter[2];
    counter = {uint32_t(right >> 32) ^ counter[1] ^ key[0], uint32_t(right),
               uint32_t(left >> 32) ^ counter[3] ^ key[1], uint32_t(left)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

static uint64_t fnv1a64(llvm::StringRef text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char c : text)
    hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

static uint64_t splitmix64(uint64_t state) {
  uint64_t z = state + 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

RandomStream::RandomStream(uint64_t seed, llvm::StringRef place, uint64_t step) : step(step) {
  uint64_t mixed = splitmix64(seed ^ fnv1a64(place));
  key = {uint32_t(mixed), uint32_t(mixed >> 32)};
}

std::array<uint32_t, 4> RandomStream::block(uint64_t index) const {
  uint64_t number = index / 4;
  return philox({uint32_t(number), uint32_t(number >> 32), uint32_t(step), uint32_t(step >> 32)},
                key);
}

double RandomStream::uniform(uint64_t index) const {
  return (block(index)[index % 4] >> 8) * 0x1p-24;
}

double RandomStream::normal(uint64_t index) const {
  std::array<uint32_t, 4> words = block(index);
  uint64_t first = index % 4 / 2 * 2;
  double radius = std::sqrt(-2 * std::log((words[first] + 1.0) * 0x1p-32));
  double angle = 2 * M_PI * (words[first + 1] * 0x1p-32);
  return radius * (index % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

double RandomStream::truncatedNormal(uint64_t index) const {
  RandomStream attempt = *this;
  for (attempt.step = 0; attempt.step < 1000; ++attempt.step) {
    double value = attempt.normal(index);
    if (std::fabs(value) <= 2)
      return value;
  }
  return 0;
}

} // namespace ptlc::run
