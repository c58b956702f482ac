//===- Nearest.cpp - "did you mean" ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Counts insertions, deletions, replacements and swaps of neighbours (optimal
// string alignment): a swap is the commonest slip of a fast typist, and plain
// edit distance counts it twice.
//===----------------------------------------------------------------------===//
#include "lang/Diag/Diagnostics.h"

#include <algorithm>

using namespace ptlc::lang;
using llvm::StringRef;

/// Returns the optimal string alignment distance; O(|a| * |b|).
static size_t distance(StringRef a, StringRef b) {
  std::vector<size_t> previous(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], previous[j - 2] + 1);
    }
    previous.swap(row);
    row.swap(next);
  }
  return row[b.size()];
}

StringRef ptlc::lang::nearest(StringRef name, llvm::ArrayRef<StringRef> candidates) {
  constexpr size_t kLongest = 64; // nobody mistypes longer names by a few letters
  StringRef best, bestPrefix;
  size_t bestDistance = SIZE_MAX;
  if (name.size() < 2 || name.size() > kLongest)
    return best;
  for (StringRef candidate : candidates) {
    if (candidate.size() > kLongest || candidate == name)
      continue;
    size_t limit = std::max(name.size(), candidate.size()) / 3;
    size_t d = candidate.equals_insensitive(name) ? 1 : distance(name, candidate);
    if (d < bestDistance && (d <= limit || candidate.equals_insensitive(name))) {
      bestDistance = d;
      best = candidate;
    }
    // 'epsilon' for 'eps', 'hid' for 'hidden': far apart, and still what was meant.
    bool isPrefix = std::min(name.size(), candidate.size()) >= 3 &&
                    (name.starts_with(candidate) || candidate.starts_with(name));
    if (isPrefix && bestPrefix.empty())
      bestPrefix = candidate;
  }
  return best.empty() ? bestPrefix : best;
}

std::string ptlc::lang::didYouMean(StringRef name, llvm::ArrayRef<StringRef> candidates) {
  StringRef found = nearest(name, candidates);
  return found.empty() ? std::string() : ("; did you mean '" + found + "'?").str();
}
