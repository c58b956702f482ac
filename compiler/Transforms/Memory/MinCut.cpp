//===- MinCut.cpp - The cheapest values to keep ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Memory/MinCut.h"

#include <algorithm>

using namespace ptlc::memory;

void MinCut::addEdge(unsigned from, unsigned to, int64_t capacity) {
  outgoing[from].push_back(edges.size());
  edges.push_back({to, capacity});
  outgoing[to].push_back(edges.size());
  edges.push_back({from, 0});
}

unsigned MinCut::addValue(int64_t cost) {
  unsigned value = (outgoing.size() - 2) / 2;
  outgoing.resize(outgoing.size() + 2);
  addEdge(inOf(value), outOf(value), cost);
  return value;
}

void MinCut::addUse(unsigned operand, unsigned user) {
  addEdge(outOf(operand), inOf(user), kInfinite);
}

void MinCut::addRoot(unsigned value) { addEdge(kSource, inOf(value), kInfinite); }

void MinCut::addNeeded(unsigned value) { addEdge(outOf(value), kSink, kInfinite); }

/// Sends more along a shortest path; false if there is none.
bool MinCut::augment() {
  constexpr unsigned kNone = ~0u;
  std::vector<unsigned> cameBy(outgoing.size(), kNone);
  std::vector<unsigned> queue = {kSource};
  for (size_t i = 0; i < queue.size() && cameBy[kSink] == kNone; ++i)
    for (unsigned edge : outgoing[queue[i]])
      if (unsigned to = edges[edge].to;
          edges[edge].capacity > 0 && to != kSource && cameBy[to] == kNone) {
        cameBy[to] = edge;
        queue.push_back(to);
      }
  if (cameBy[kSink] == kNone)
    return false;
  int64_t amount = kInfinite;
  for (unsigned node = kSink; node != kSource; node = edges[cameBy[node] ^ 1].to)
    amount = std::min(amount, edges[cameBy[node]].capacity);
  for (unsigned node = kSink; node != kSource; node = edges[cameBy[node] ^ 1].to) {
    edges[cameBy[node]].capacity -= amount;
    edges[cameBy[node] ^ 1].capacity += amount;
  }
  return true;
}

/// The nodes from which the sink can still be reached.
llvm::BitVector MinCut::reachesSink() const {
  llvm::BitVector reached(outgoing.size());
  std::vector<unsigned> stack = {kSink};
  reached.set(kSink);
  while (!stack.empty()) {
    unsigned node = stack.back();
    stack.pop_back();
    for (unsigned edge : outgoing[node])
      if (unsigned from = edges[edge].to; edges[edge ^ 1].capacity > 0 && !reached[from]) {
        reached.set(from);
        stack.push_back(from);
      }
  }
  return reached;
}

llvm::BitVector MinCut::solve() {
  while (augment()) {
  }
  llvm::BitVector reached = reachesSink();
  unsigned count = (outgoing.size() - 2) / 2;
  llvm::BitVector kept(count);
  for (unsigned value = 0; value < count; ++value)
    if (!reached[inOf(value)] && reached[outOf(value)])
      kept.set(value);
  return kept;
}
