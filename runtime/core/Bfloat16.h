//===- Bfloat16.h - Numbers of two bytes ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The upper half of an f32: its range, with 8 bits of significand. Integer
// operations only, which generated code and the kernels of every instruction set
// repeat bit for bit (the CPU's own instructions drop denormal numbers).
//===----------------------------------------------------------------------===//
#ifndef PTLRT_CORE_BFLOAT16_H
#define PTLRT_CORE_BFLOAT16_H

#include <bit>
#include <cstdint>

namespace ptlrt {

inline float fromBfloat16(uint16_t value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value) << 16);
}

/// The nearest, ties to even; what is too large becomes infinite. Not-a-number stays, quiet.
inline uint16_t toBfloat16(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  uint32_t up = bits + 0x7fff + (bits >> 16 & 1);
  return static_cast<uint16_t>((value != value ? bits | 0x400000 : up) >> 16);
}

} // namespace ptlrt

#endif // PTLRT_CORE_BFLOAT16_H
