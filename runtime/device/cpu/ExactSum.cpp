//===- ExactSum.cpp - Sums of f32 numbers without rounding ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "runtime/device/cpu/ExactSum.h"

#include <bit>
#include <cmath>
#include <limits>

namespace ptlrt {

static constexpr int kDigitBits = 32, kLowest = -160;
static constexpr int kInfinite = ExactSum::kDigits, kInvalid = ExactSum::kDigits + 1;

void ExactSum::add(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  uint32_t exponent = bits >> 23 & 0xff;
  uint64_t mantissa = bits & 0x7fffff;
  if (exponent == 0xff) {
    ++digits[mantissa ? kInvalid : kInfinite];
    return;
  }
  // value = mantissa * 2^(exponent - 150); a denormal number has exponent 1 and no hidden bit.
  if (exponent == 0)
    exponent = 1;
  else
    mantissa |= 0x800000;
  uint32_t place = exponent - 150 - kLowest;
  uint64_t shifted = mantissa << place % kDigitBits;
  digits[place / kDigitBits] += static_cast<int64_t>(shifted & 0xffffffff);
  digits[place / kDigitBits + 1] += static_cast<int64_t>(shifted >> kDigitBits);
}

void ExactSum::carry() {
  for (int i = 0; i + 1 < kDigits; ++i) {
    digits[i + 1] += digits[i] >> kDigitBits;
    digits[i] &= 0xffffffff;
  }
}

double ExactSum::value() const {
  if (digits[kInvalid] > 0)
    return std::numeric_limits<double>::quiet_NaN();
  if (digits[kInfinite] > 0)
    return std::numeric_limits<double>::infinity();
  double total = 0;
  for (int i = kDigits; i-- > 0;)
    total += std::ldexp(static_cast<double>(digits[i]), kLowest + i * kDigitBits);
  return total;
}

} // namespace ptlrt
