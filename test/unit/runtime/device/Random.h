//===- Random.h - Numbers for tests of kernels ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLC_TEST_UNIT_RUNTIME_DEVICE_RANDOM_H
#define PTLC_TEST_UNIT_RUNTIME_DEVICE_RANDOM_H

#include "runtime/device/cpu/Isa.h"
#include <cstdint>
#include <vector>

namespace ptlrt::test {

/// Instruction sets whose kernels run on this machine.
inline std::vector<cpu::Isa> usableIsas() {
  if (cpu::bestIsa() == cpu::Isa::Avx512)
    return {cpu::Isa::Avx2, cpu::Isa::Avx512};
  return {cpu::Isa::Avx2};
}

/// A linear congruential sequence; the same on every machine.
class Random {
public:
  explicit Random(uint32_t seed = 1) : state(seed * 2654435761u + 1) {}
  uint32_t bits() {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
  }
  /// In [-1, 1).
  float number() { return static_cast<float>(bits()) * 0x1p-23f - 1.0f; }
  std::vector<float> numbers(int64_t count) {
    std::vector<float> result(static_cast<size_t>(count));
    for (float &x : result)
      x = number();
    return result;
  }

private:
  uint32_t state;
};

} // namespace ptlrt::test

#endif // PTLC_TEST_UNIT_RUNTIME_DEVICE_RANDOM_H
