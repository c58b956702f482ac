//===- Suggest.cpp - What a misspelt name may have meant ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Edit distance in which two exchanged letters are one edit; near is a third of
// the length.
//===----------------------------------------------------------------------===//
#include "runtime/core/Suggest.h"

#include <algorithm>
#include <fmt/core.h>
#include <numeric>
#include <vector>

namespace ptlrt {

static size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> older, old(b.size() + 1), row(b.size() + 1);
  std::iota(old.begin(), old.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({old[j] + (a[i] == b[j] ? 0 : 1), row[j] + 1, old[j + 1] + 1});
      if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j])
        row[j + 1] = std::min(row[j + 1], older[j - 1] + 1);
    }
    older = old;
    old = row;
  }
  return old.back();
}

std::string didYouMean(std::string_view name, std::span<const std::string> names) {
  const std::string *best = nullptr;
  // Not the whole word: one letter for another suggests nothing.
  size_t bestDistance = std::min(name.size(), std::max<size_t>(1, name.size() / 3) + 1);
  for (const std::string &candidate : names)
    if (size_t distance = editDistance(name, candidate); distance < bestDistance) {
      best = &candidate;
      bestDistance = distance;
    }
  return best ? fmt::format("; did you mean '{}'?", *best) : "";
}

} // namespace ptlrt
