//===- Timeline.cpp - What lies in the arena at each operation ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Lifetimes come from uses; the covered bytes of each position from a sweep over
// positions with a counter for each piece between two borders of ranges. Linear in
// operations, and for each value in the borders that lie inside of it.
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Memory/Timeline.h"

#include "dialects/Rt/Rt.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ptlc;

Timeline::Timeline(func::FuncOp function) {
  for (Block &block : function.getBody())
    visit(block);
  for (Operation *op : order)
    addResults(op);
  sweep();
}

void Timeline::visit(Block &block) {
  for (Operation &op : block) {
    unsigned position = order.size();
    order.push_back(&op);
    if (!isa<rt::KernelOp>(op))
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          visit(inner);
    spans[&op] = {position, static_cast<unsigned>(order.size()) - 1};
  }
}

void Timeline::addResults(Operation *op) {
  auto buffers = op->getAttrOfType<ArrayAttr>("rt.buffers");
  if (!buffers)
    return;
  for (auto [result, attribute] : llvm::zip(op->getResults(), buffers)) {
    auto buffer = cast<rt::BufferAttr>(attribute);
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (buffer.getLevel() != rt::MemoryLevel::Micro || !type)
      continue;
    int64_t bytes = buffer.getRows() * buffer.getStride() *
                    static_cast<int64_t>(llvm::divideCeil(type.getElementTypeBitWidth(), 8));
    unsigned last = spans[op].second;
    for (Operation *user : result.getUsers())
      if (Operation *outer = op->getBlock()->findAncestorOpInBlock(*user))
        last = std::max(last, spans[outer].second);
    ranges.push_back(
        {result, buffer.getOffset(), buffer.getOffset() + bytes, spans[op].first, last});
  }
}

void Timeline::sweep() {
  std::vector<int64_t> borders;
  for (const LiveRange &range : ranges) {
    borders.push_back(range.begin);
    borders.push_back(range.end);
  }
  llvm::sort(borders);
  borders.erase(llvm::unique(borders), borders.end());
  std::vector<std::vector<std::pair<const LiveRange *, int>>> events(order.size() + 1);
  for (const LiveRange &range : ranges) {
    events[range.first].push_back({&range, 1});
    events[range.last + 1].push_back({&range, -1});
  }
  std::vector<int> users(borders.size(), 0);
  int64_t covered = 0;
  for (size_t position = 0; position < order.size(); ++position) {
    for (auto [range, change] : events[position])
      for (size_t i = llvm::lower_bound(borders, range->begin) - borders.begin();
           borders[i] < range->end; ++i) {
        bool before = users[i] > 0;
        users[i] += change;
        covered += (int(users[i] > 0) - int(before)) * (borders[i + 1] - borders[i]);
      }
    needed.push_back(covered);
  }
}

unsigned Timeline::peak() const {
  return needed.empty() ? 0 : llvm::max_element(needed) - needed.begin();
}

std::vector<LiveBytes> Timeline::liveAt(unsigned position) const {
  std::vector<const LiveRange *> live;
  for (const LiveRange &range : ranges)
    if (range.first <= position && position <= range.last)
      live.push_back(&range);
  // Who came last has the bytes; addresses of elements tell which of one operation's came first.
  llvm::sort(live, [](const LiveRange *a, const LiveRange *b) {
    return std::tie(b->first, a) < std::tie(a->first, b);
  });
  std::vector<std::pair<int64_t, int64_t>> taken; // sorted, disjoint
  std::vector<LiveBytes> result;
  for (const LiveRange *range : live) {
    int64_t bytes = range->end - range->begin, begin = range->begin, end = range->end;
    std::vector<std::pair<int64_t, int64_t>> merged;
    for (auto [from, to] : taken) {
      bytes -= std::max<int64_t>(0, std::min(to, range->end) - std::max(from, range->begin));
      if (to < begin || from > end) {
        merged.push_back({from, to});
        continue;
      }
      begin = std::min(begin, from);
      end = std::max(end, to);
    }
    merged.push_back({begin, end});
    llvm::sort(merged);
    taken = std::move(merged);
    if (bytes > 0)
      result.push_back({range->value, bytes});
  }
  return result;
}
