//===- ExactSum.h - Sums of f32 numbers without rounding --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// A fixed-point number that is wide enough for any f32 number, so that the order
// of a sum doesn't matter: Kulisch, "Computer Arithmetic and Validity" (2008),
// chapter 8. Digits are added without carries; they have 31 bits of room.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_DEVICE_CPU_EXACTSUM_H
#define PTLRT_DEVICE_CPU_EXACTSUM_H

#include <cstdint>

namespace ptlrt {

/// A sum of numbers that aren't negative. Its memory is what ranks add up: digit i of ten counts
/// 2^(32 i - 160), then come the number of infinite ones and of those that are no numbers.
class ExactSum {
public:
  static constexpr int kDigits = 10, kSize = 12;

  void add(float value);
  void add(const ExactSum &other) {
    for (int i = 0; i < kSize; ++i)
      digits[i] += other.digits[i];
  }
  /// Brings each digit below 2^32, so that equal sums have equal digits.
  void carry();
  /// The sum, rounded; carry() was called.
  double value() const;

  int64_t digits[kSize] = {};
};

} // namespace ptlrt

#endif // PTLRT_DEVICE_CPU_EXACTSUM_H
