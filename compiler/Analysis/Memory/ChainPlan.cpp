//===- ChainPlan.cpp - Which blocks of a chain to compute again -----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Memory/ChainPlan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace ptlc;

namespace {
/// A way to get past some blocks: bytes that they keep, the cost, and how it came about.
struct State {
  int64_t kept = 0;
  double cost = 0;
  unsigned before = 0, option = 0; ///< the state in front of the last block, and what it does
};
} // namespace

/// Leaves the states that no other beats in both bytes and cost.
static std::vector<State> best(std::vector<State> states) {
  llvm::stable_sort(states, [](const State &a, const State &b) {
    return std::tie(a.kept, a.cost) < std::tie(b.kept, b.cost);
  });
  std::vector<State> result;
  for (const State &state : states)
    if (result.empty() || state.cost < result.back().cost)
      result.push_back(state);
  return result;
}

std::optional<std::vector<unsigned>>
ptlc::planChain(llvm::ArrayRef<std::vector<BlockOption>> blocks, int64_t head, int64_t limit) {
  int64_t unit = std::max<int64_t>(1, limit >> 16);
  std::vector<std::vector<State>> table = {{State()}};
  for (const std::vector<BlockOption> &options : blocks) {
    std::vector<State> next;
    for (auto [before, state] : llvm::enumerate(table.back()))
      for (auto [number, option] : llvm::enumerate(options))
        if (state.kept + option.working <= limit)
          next.push_back({state.kept + static_cast<int64_t>(llvm::alignTo(option.kept, unit)),
                          state.cost + option.cost, static_cast<unsigned>(before),
                          static_cast<unsigned>(number)});
    table.push_back(best(std::move(next)));
  }
  // Ascending in bytes, descending in cost.
  const std::vector<State> &ends = table.back();
  size_t end = ends.size();
  while (end > 0 && ends[end - 1].kept + head > limit)
    --end;
  if (end == 0)
    return std::nullopt;
  std::vector<unsigned> choice(blocks.size());
  unsigned at = end - 1;
  for (size_t block = blocks.size(); block > 0; --block) {
    choice[block - 1] = table[block][at].option;
    at = table[block][at].before;
  }
  return choice;
}
