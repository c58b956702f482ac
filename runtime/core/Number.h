//===- Number.h - Reading numbers strictly --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The whole text must be the number, and it must fit: no silent zero, no
// ignored rest, no wrap.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_CORE_NUMBER_H
#define PTLRT_CORE_NUMBER_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace ptlrt {

/// The whole number that `text` is, or nothing.
std::optional<int64_t> parseInteger(std::string_view text);
std::optional<uint64_t> parseUnsigned(std::string_view text);
/// The finite number that `text` is, or nothing.
std::optional<double> parseNumber(std::string_view text);

/// a * b, or nothing if it doesn't fit into 63 bits; both at least 0.
std::optional<int64_t> multiply(int64_t a, int64_t b);

} // namespace ptlrt

#endif // PTLRT_CORE_NUMBER_H
