//===- Permutation.cpp - A shuffled order without a table -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The domain is less than four times n, so a walk takes four turns on average at
// most. Round keys come from splitmix64 over the key.
//===----------------------------------------------------------------------===//
#include "runtime/data/Permutation.h"

#include "runtime/core/SplitMix.h"

namespace ptlrt {

Permutation::Permutation(uint64_t n, uint64_t seed, uint64_t pass) : size(n) {
  int bits = 2;
  while (bits < 64 && (uint64_t{1} << bits) < n)
    bits += 2;
  halfBits = bits / 2;
  mask = (uint64_t{1} << halfBits) - 1;
  uint64_t state = splitMix(splitMix(seed) ^ pass);
  for (uint64_t &key : keys)
    key = state = splitMix(state);
}

uint64_t Permutation::operator()(uint64_t position) const {
  do {
    uint64_t left = position >> halfBits, right = position & mask;
    for (uint64_t key : keys) {
      uint64_t mixed = left ^ (splitMix(right ^ key) & mask);
      left = right;
      right = mixed;
    }
    position = left << halfBits | right;
  } while (position >= size);
  return position;
}

} // namespace ptlrt
