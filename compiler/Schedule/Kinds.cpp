//===- Kinds.cpp - Schedules by name --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/Generators.h"

#include <iterator>

namespace ptlc::schedule {

static constexpr std::string_view kNames[] = {"gpipe", "one_f_one_b", "interleaved", "zb_h1",
                                              "zb_h2", "zb_v",        "v_half",      "v_min"};

std::optional<Kind> parseKind(std::string_view name) {
  for (size_t i = 0; i < std::size(kNames); ++i)
    if (name == kNames[i])
      return static_cast<Kind>(i);
  return std::nullopt;
}

std::string_view name(Kind kind) { return kNames[static_cast<size_t>(kind)]; }

/// V schedules of at most `limit` halves per rank.
static std::optional<Orders> lowMemory(Kind kind, int p, int m, int limit, std::string &error) {
  std::optional<Orders> orders = vPattern(p, m, limit);
  if (orders)
    orders->name = name(kind);
  else
    error = "no V schedule of " + std::to_string(p) + " ranks keeps within " +
            std::to_string(limit) + " half stashes";
  return orders;
}

std::optional<Orders> generate(Kind kind, int p, int m, int v, std::string &error) {
  if (p < 1 || m < 1 || v < 1) {
    error = "a schedule needs at least one rank, one micro-batch and one chunk";
    return std::nullopt;
  }
  switch (kind) {
  case Kind::GPipe:
    return gpipe(p, m, v);
  case Kind::OneForwardOneBackward:
    return oneForwardOneBackward(p, m);
  case Kind::Interleaved:
    return interleaved(p, m, v);
  case Kind::ZbH1:
    return zeroBubbleH1(p, m);
  case Kind::ZbH2:
    return zeroBubbleH2(p, m);
  case Kind::ZbV:
    return zeroBubbleV(p, m);
  case Kind::VHalf:
    return lowMemory(kind, p, m, vHalfLimit(p), error);
  case Kind::VMin:
    return lowMemory(kind, p, m, vMinLimit(p), error);
  }
  return std::nullopt;
}

} // namespace ptlc::schedule
