//===- Packing.cpp - Offsets of what lives at some time -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each trial takes the items in an order and gives each a gap that fits between
// those placed before it: the lowest ("first fit") or the smallest ("best fit").
// Largest first is best where few large values dominate; longest first keeps what
// the backward needs in one pile; by time follows a stack. (Orders: Pisarchyk and
// Lee, Efficient Memory Management for Deep Neural Net Inference, 2020, section 5.)
// Trials stop at the first within 1 % of the bound, so most programs need one.
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Memory/Packing.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <tuple>

using namespace ptlc::memory;

static int64_t leastBytes(llvm::ArrayRef<PackItem> items) {
  unsigned times = 0;
  for (const PackItem &item : items)
    times = std::max(times, item.last + 1);
  std::vector<int64_t> change(times + 1, 0);
  for (const PackItem &item : items) {
    change[item.first] += item.bytes;
    change[item.last + 1] -= item.bytes;
  }
  int64_t live = 0, most = 0;
  for (int64_t bytes : change)
    most = std::max(most, live += bytes);
  return most;
}

namespace {
enum class Fit { Lowest, Smallest };
using Order = llvm::function_ref<std::tuple<int64_t, int64_t>(const PackItem &)>;

class Trial {
public:
  Trial(llvm::ArrayRef<PackItem> items, Fit fit) : items(items), fit(fit) {
    result.offsets.resize(items.size());
  }
  Packing run(Order order);

private:
  int64_t findGap(const PackItem &item) const;

  llvm::ArrayRef<PackItem> items;
  Fit fit;
  std::vector<unsigned> placed; ///< by offset
  Packing result;
};
} // namespace

int64_t Trial::findGap(const PackItem &item) const {
  int64_t top = 0, best = -1, width = 0;
  for (unsigned other : placed) {
    const PackItem &taken = items[other];
    if (taken.first > item.last || item.first > taken.last)
      continue;
    int64_t gap = result.offsets[other] - top;
    if (gap >= item.bytes && (best < 0 || gap < width)) {
      best = top;
      width = gap;
      if (fit == Fit::Lowest)
        break;
    }
    top = std::max(top, result.offsets[other] + taken.bytes);
  }
  return best < 0 ? top : best;
}

Packing Trial::run(Order order) {
  llvm::SmallVector<unsigned> sequence = llvm::to_vector(llvm::seq<unsigned>(0, items.size()));
  llvm::sort(sequence, [&](unsigned a, unsigned b) {
    return std::tuple(order(items[a]), a) < std::tuple(order(items[b]), b);
  });
  for (unsigned id : sequence) {
    int64_t offset = findGap(items[id]);
    result.offsets[id] = offset;
    result.end = std::max(result.end, offset + items[id].bytes);
    auto behind = llvm::upper_bound(
        placed, offset, [&](int64_t at, unsigned other) { return at < result.offsets[other]; });
    placed.insert(behind, id);
  }
  return std::move(result);
}

Packing ptlc::memory::packItems(llvm::ArrayRef<PackItem> items) {
  auto length = [](const PackItem &item) -> int64_t { return item.last - item.first + 1; };
  auto bySize = [](const PackItem &item) { return std::tuple(-item.bytes, int64_t(item.first)); };
  auto byArea = [&](const PackItem &item) {
    return std::tuple(-item.bytes * length(item), -item.bytes);
  };
  auto byLength = [&](const PackItem &item) { return std::tuple(-length(item), -item.bytes); };
  auto byTime = [](const PackItem &item) { return std::tuple(int64_t(item.first), -item.bytes); };
  auto byEnd = [](const PackItem &item) { return std::tuple(-int64_t(item.last), -item.bytes); };
  const int64_t least = leastBytes(items);
  Packing best;
  for (Order order : {Order(bySize), Order(byLength), Order(byArea), Order(byTime), Order(byEnd)})
    for (Fit fit : {Fit::Lowest, Fit::Smallest}) {
      Packing found = Trial(items, fit).run(order);
      if (best.offsets.empty() || found.end < best.end)
        best = std::move(found);
      if (best.end <= least + least / 100) {
        best.least = least;
        return best;
      }
    }
  best.least = least;
  return best;
}
