//===- Reshard.cpp - The cheapest way from one sharding to another --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Dijkstra's algorithm over the graph of shardings that Reshard.h describes.
// Order of states with equal cost: fewer steps, then earlier discovery, so that
// plans are the same from run to run.
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Sharding/Reshard.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <queue>

using namespace ptlc::sharding;
using llvm::ArrayRef;

llvm::StringRef ptlc::sharding::stepName(StepKind kind) {
  static constexpr const char *kNames[] = {
      "slice", "mask", "all_gather", "all_to_all", "reduce_scatter", "all_reduce", "permute"};
  return kNames[static_cast<size_t>(kind)];
}

static int64_t elements(ArrayRef<int64_t> shape) {
  int64_t product = 1;
  for (int64_t size : shape)
    product *= size;
  return product;
}

Step ReshardPlanner::make(ArrayRef<int64_t> shape, StepKind kind, AxisList axes, int dim, int to,
                          const Sharding &source, const Sharding &target) {
  Step step{kind, std::move(axes), dim, to, source, target, 0, 0};
  if (kind == StepKind::Slice || kind == StepKind::Mask)
    return step;
  int64_t group = mesh.product(step.axes), count = 0;
  auto from = localShape(mesh, shape, source), local = localShape(mesh, shape, target);
  switch (kind) {
  case StepKind::AllGather:
    count = (group - 1) * elements(from);
    break;
  case StepKind::AllToAll: // a chunk for each other rank: `to` already cut, `dim` not yet joined
    from[to] = local[to];
    count = (group - 1) * elements(from);
    break;
  case StepKind::ReduceScatter:
    count = (group - 1) * elements(local);
    break;
  case StepKind::AllReduce:
    count = 2 * (group - 1) * llvm::divideCeil(elements(from), group);
    break;
  default:
    count = elements(from);
  }
  step.bytes = count * elementBytes;
  step.cost = mesh.cost(static_cast<double>(step.bytes), step.axes);
  return step;
}

bool ptlc::sharding::canPermute(const Mesh &mesh, ArrayRef<int64_t> shape, const Sharding &source,
                                const Sharding &target) {
  if (source.partial != target.partial || (source.partial & target.used()))
    return false;
  for (size_t i = 0; i < shape.size(); i++)
    if (source.dims[i].size() != target.dims[i].size() ||
        allExtents(mesh, shape[i], source.dims[i]) != allExtents(mesh, shape[i], target.dims[i]))
      return false;
  llvm::SmallVector<int64_t> freed, taken;
  for (AxisId axis = 0; axis < mesh.size(); axis++) {
    bool before = source.used() & axisBit(axis), after = target.used() & axisBit(axis);
    if (before && !after)
      freed.push_back(mesh[axis].size);
    if (after && !before)
      taken.push_back(mesh[axis].size);
  }
  llvm::sort(freed);
  llvm::sort(taken);
  return freed == taken;
}

/// Calls `use` with every ordered, non-empty choice of `axes`.
template <typename Use> static void forOrders(ArrayRef<AxisId> axes, AxisList &chosen, Use use) {
  if (!chosen.empty())
    use(chosen);
  for (AxisId axis : axes) {
    if (llvm::is_contained(chosen, axis))
      continue;
    chosen.push_back(axis);
    forOrders(axes, chosen, use);
    chosen.pop_back();
  }
}

void ReshardPlanner::addReductions(ArrayRef<int64_t> shape, const Sharding &from,
                                   std::vector<Step> &out) {
  AxisList pending;
  for (AxisId axis = 0; axis < mesh.size(); axis++)
    if (from.partial & axisBit(axis))
      pending.push_back(axis);
  AxisList chosen;
  forOrders(pending, chosen, [&](const AxisList &group) {
    AxisSet rest = from.partial & ~setOf(group);
    if (llvm::is_sorted(group))
      out.push_back(make(shape, StepKind::AllReduce, group, -1, -1, from, from.withPartial(rest)));
    for (size_t dim = 0; dim < shape.size(); dim++) {
      AxisList list = from.dims[dim];
      list.append(group.begin(), group.end());
      out.push_back(make(shape, StepKind::ReduceScatter, group, dim, -1, from,
                         from.withDim(dim, list).withPartial(rest)));
    }
  });
}

void ReshardPlanner::addMoves(ArrayRef<int64_t> shape, const Sharding &from,
                              std::vector<Step> &out) {
  for (size_t dim = 0; dim < shape.size(); dim++) {
    const AxisList &list = from.dims[dim];
    for (size_t begin = 0; begin < list.size(); begin++) {
      AxisList suffix(list.begin() + begin, list.end());
      AxisList kept(list.begin(), list.begin() + begin);
      Sharding gone = from.withDim(dim, kept);
      out.push_back(make(shape, StepKind::AllGather, suffix, dim, -1, from, gone));
      for (size_t other = 0; other < shape.size(); other++) {
        if (other == dim)
          continue;
        AxisList longer = from.dims[other];
        longer.append(suffix.begin(), suffix.end());
        out.push_back(
            make(shape, StepKind::AllToAll, suffix, dim, other, from, gone.withDim(other, longer)));
      }
    }
  }
}

void ReshardPlanner::addPermutes(ArrayRef<int64_t> shape, const Sharding &from,
                                 std::vector<Step> &out) {
  AxisList available;
  size_t count = 0;
  for (const AxisList &list : from.dims)
    count += list.size();
  for (AxisId axis = 0; axis < mesh.size(); axis++)
    if (!(from.partial & axisBit(axis)))
      available.push_back(axis);
  if (count == 0 || available.size() < 2)
    return;
  AxisList chosen;
  forOrders(available, chosen, [&](const AxisList &order) {
    if (order.size() != count)
      return;
    Sharding target = from;
    AxisList involved;
    size_t next = 0;
    for (AxisList &list : target.dims)
      for (AxisId &axis : list) {
        AxisId before = axis;
        axis = order[next++];
        if (axis != before)
          involved.append({before, axis});
      }
    if (involved.empty() || !canPermute(mesh, shape, from, target))
      return;
    llvm::sort(involved);
    involved.erase(llvm::unique(involved), involved.end());
    out.push_back(make(shape, StepKind::Permute, involved, -1, -1, from, target));
  });
}

std::vector<Step> ReshardPlanner::successors(ArrayRef<int64_t> shape, const Sharding &from,
                                             const Sharding &target) {
  std::vector<Step> out;
  Fold kind = from.partial ? from.kind : target.kind;
  for (AxisId axis = 0; axis < mesh.size(); axis++) {
    if ((from.used() | from.partial) & axisBit(axis))
      continue;
    for (size_t dim = 0; dim < shape.size(); dim++) {
      AxisList list = from.dims[dim];
      list.push_back(axis);
      out.push_back(make(shape, StepKind::Slice, {axis}, dim, -1, from, from.withDim(dim, list)));
    }
    Sharding masked = from.withPartial(from.partial | axisBit(axis));
    masked.kind = kind;
    out.push_back(make(shape, StepKind::Mask, {axis}, -1, -1, from, masked));
  }
  addReductions(shape, from, out);
  addMoves(shape, from, out);
  addPermutes(shape, from, out);
  return out;
}

namespace {
/// Where the search stands with one sharding.
struct Visit {
  double cost = 0;
  unsigned steps = 0;
  Step last; ///< how it was reached
  bool done = false;
};
struct QueueEntry {
  double cost;
  unsigned steps, order;
  Sharding at;
  bool operator<(const QueueEntry &other) const {
    return std::tie(cost, steps, order) > std::tie(other.cost, other.steps, other.order);
  }
};
} // namespace

Plan ReshardPlanner::search(ArrayRef<int64_t> shape, const Sharding &source,
                            const Sharding &target) {
  std::map<Sharding, Visit> visits;
  std::priority_queue<QueueEntry> queue;
  unsigned order = 0;
  visits[source];
  queue.push({0, 0, order++, source});
  while (!queue.empty()) {
    QueueEntry entry = queue.top();
    queue.pop();
    Visit &visit = visits[entry.at];
    if (visit.done)
      continue;
    visit.done = true;
    if (entry.at == target)
      break;
    for (Step &step : successors(shape, entry.at, target)) {
      double cost = entry.cost + step.cost;
      unsigned steps = entry.steps + 1;
      auto [found, isNew] = visits.try_emplace(step.target);
      Visit &next = found->second;
      if (!isNew && std::tie(next.cost, next.steps) <= std::tie(cost, steps))
        continue;
      Sharding reached = step.target;
      next.cost = cost;
      next.steps = steps;
      next.last = std::move(step);
      queue.push({cost, steps, order++, reached});
    }
  }
  Plan plan;
  for (Sharding at = target; at != source;) {
    plan.push_back(visits[at].last);
    at = plan.back().source;
  }
  std::reverse(plan.begin(), plan.end());
  return plan;
}

const Plan &ReshardPlanner::plan(ArrayRef<int64_t> shape, const Sharding &source,
                                 const Sharding &target) {
  auto [found, isNew] = plans.try_emplace(Key(Shape(shape.begin(), shape.end()), source, target));
  if (isNew && source != target)
    found->second = search(shape, source, target);
  return found->second;
}

double ReshardPlanner::cost(ArrayRef<int64_t> shape, const Sharding &source,
                            const Sharding &target) {
  double total = 0;
  for (const Step &step : plan(shape, source, target))
    total += step.cost;
  return total;
}
