//===- Suggest.cpp - What a misspelt name may have meant ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Edit distance with one row of the table; near is a third of the length.
//===----------------------------------------------------------------------===//
#include "runtime/core/Suggest.h"

#include <algorithm>
#include <fmt/core.h>
#include <numeric>
#include <vector>

namespace ptlrt {

static size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t change = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string didYouMean(std::string_view name, std::span<const std::string> names) {
  const std::string *best = nullptr;
  size_t bestDistance = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string &candidate : names)
    if (size_t distance = editDistance(name, candidate); distance < bestDistance) {
      best = &candidate;
      bestDistance = distance;
    }
  return best ? fmt::format("; did you mean '{}'?", *best) : "";
}

} // namespace ptlrt
