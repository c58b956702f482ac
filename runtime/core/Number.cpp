//===- Number.cpp - Reading numbers strictly ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// std::from_chars, plus the check that nothing is left over.
//===----------------------------------------------------------------------===//
#include "runtime/core/Number.h"

#include <charconv>
#include <cmath>

namespace ptlrt {

template <typename T> static std::optional<T> parseWhole(std::string_view text) {
  T value{};
  const char *end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end)
    return std::nullopt;
  return value;
}

std::optional<int64_t> parseInteger(std::string_view text) { return parseWhole<int64_t>(text); }
std::optional<uint64_t> parseUnsigned(std::string_view text) { return parseWhole<uint64_t>(text); }

std::optional<double> parseNumber(std::string_view text) {
  std::optional<double> value = parseWhole<double>(text);
  if (value && !std::isfinite(*value))
    return std::nullopt;
  return value;
}

std::optional<int64_t> multiply(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product))
    return std::nullopt;
  return product;
}

} // namespace ptlrt
