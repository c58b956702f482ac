//===- ReshardGreedy.cpp - Reshard plans without looking ahead ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each round takes the first kind of step that applies: free slices, then what
// makes buffers smaller, then what keeps them, then gathers. It ends: slices and
// reduce-scatters lengthen the common prefix with the target, all-reduces and
// gathers use axes up, and a permute or an all-to-all puts axes where they belong.
// No one order of rules is right for all links, so five variants run.
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Sharding/ReshardSteps.h"

#include "llvm/ADT/STLExtras.h"

using namespace ptlc::sharding;

namespace {
struct Variant {
  bool permutes = true, exchanges = true;
  bool slicesFirst = false; ///< in any place, so that a permute can finish
};

/// One run of the loop.
class Greedy {
public:
  Greedy(const Stepper &stepper, const Sharding &source, const Sharding &target, Variant variant)
      : stepper(stepper), mesh(stepper.getMesh()), variant(variant), now(source), target(target) {}
  Plan run();

private:
  void go(Step step) {
    now = step.target;
    plan.push_back(std::move(step));
  }
  size_t common(size_t dim) const;
  bool isPrefix(size_t dim) const { return common(dim) == now.dims[dim].size(); }
  AxisList excess(size_t dim) const {
    return AxisList(now.dims[dim].begin() + common(dim), now.dims[dim].end());
  }
  AxisList pendingOf(AxisSet set) const;
  void sliceAnywhere();
  bool sliceAndScatter();
  bool reduce(AxisSet kept);
  bool permute();
  bool exchange(size_t dim);
  bool exchange();
  bool gather();
  void mask();

  const Stepper &stepper;
  const Mesh &mesh;
  Variant variant;
  Sharding now;
  const Sharding &target;
  Plan plan;
};
} // namespace

/// Length of the common prefix of what `dim` is cut by and should be cut by.
size_t Greedy::common(size_t dim) const {
  const AxisList &a = now.dims[dim], &b = target.dims[dim];
  size_t length = 0;
  while (length < a.size() && length < b.size() && a[length] == b[length])
    length++;
  return length;
}

AxisList Greedy::pendingOf(AxisSet set) const {
  AxisList list;
  for (AxisId axis = 0; axis < mesh.size(); axis++)
    if (now.partial & set & axisBit(axis))
      list.push_back(axis);
  return list;
}

void Greedy::sliceAnywhere() {
  for (size_t dim = 0; dim < stepper.rank(); dim++)
    for (AxisId axis : target.dims[dim])
      if (!((now.used() | now.partial) & axisBit(axis)))
        go(stepper.slice(now, dim, axis));
}

bool Greedy::sliceAndScatter() {
  size_t before = plan.size();
  for (size_t dim = 0; dim < stepper.rank(); dim++)
    while (isPrefix(dim) && now.dims[dim].size() < target.dims[dim].size()) {
      AxisId axis = target.dims[dim][now.dims[dim].size()];
      if ((now.used() | now.partial) & axisBit(axis))
        break;
      go(stepper.slice(now, dim, axis));
    }
  for (size_t dim = 0; dim < stepper.rank(); dim++) {
    if (!isPrefix(dim))
      continue;
    AxisList group;
    for (AxisId axis : llvm::drop_begin(target.dims[dim], now.dims[dim].size())) {
      if (!(now.partial & axisBit(axis)))
        break;
      group.push_back(axis);
    }
    if (!group.empty())
      go(stepper.reduceScatter(now, dim, group));
  }
  return plan.size() > before;
}

/// Folds what is pending, but for `kept`.
bool Greedy::reduce(AxisSet kept) {
  AxisList axes = pendingOf(~kept);
  if (axes.empty())
    return false;
  go(stepper.allReduce(now, axes));
  return true;
}

bool Greedy::permute() {
  Sharding goal = target.withPartial(now.partial);
  goal.kind = now.kind;
  if (!variant.permutes || !stepper.canPermute(now, goal))
    return false;
  go(stepper.permute(now, goal));
  return true;
}

/// Moves the longest end of `dim` that some other dimension waits for.
bool Greedy::exchange(size_t dim) {
  for (AxisList suffix = excess(dim); !suffix.empty(); suffix.erase(suffix.begin()))
    for (size_t to = 0; to < stepper.rank(); to++) {
      if (to == dim || !isPrefix(to))
        continue;
      auto rest = llvm::ArrayRef(target.dims[to]).drop_front(now.dims[to].size());
      if (rest.take_front(suffix.size()) == llvm::ArrayRef(suffix)) {
        go(stepper.allToAll(now, dim, to, suffix));
        return true;
      }
    }
  return false;
}

bool Greedy::exchange() {
  for (size_t dim = 0; variant.exchanges && dim < stepper.rank(); dim++)
    if (!isPrefix(dim) && exchange(dim))
      return true;
  return false;
}

/// Gathers what is in the way along one dimension, the cheapest.
bool Greedy::gather() {
  std::optional<Step> best;
  for (size_t dim = 0; dim < stepper.rank(); dim++) {
    if (isPrefix(dim))
      continue;
    Step step = stepper.allGather(now, dim, excess(dim));
    if (!best || step.cost < best->cost)
      best = std::move(step);
  }
  if (best)
    go(std::move(*best));
  return best.has_value();
}

void Greedy::mask() {
  for (AxisId axis = 0; axis < mesh.size(); axis++)
    if (target.partial & ~now.partial & axisBit(axis))
      go(stepper.mask(now, axis, target.kind));
}

Plan Greedy::run() {
  // What is pending in another way than it should be can't stay.
  AxisSet kept = now.kind == target.kind ? target.partial : 0;
  if (variant.slicesFirst)
    sliceAnywhere();
  while (now != target)
    if (!sliceAndScatter() && !reduce(kept | target.used()) && !permute() && !exchange() &&
        !gather() && !reduce(kept))
      mask();
  return std::move(plan);
}

Plan ptlc::sharding::greedyPlan(const Stepper &stepper, const Sharding &source,
                                const Sharding &target) {
  static constexpr Variant kVariants[] = {
      {}, {false, true, false}, {true, true, true}, {true, false, false}, {false, false, false}};
  Plan best;
  bool found = false;
  for (const Variant &variant : kVariants) {
    Plan plan = Greedy(stepper, source, target, variant).run();
    double cost = costOf(plan), least = costOf(best);
    if (!found || cost < least || (cost == least && plan.size() < best.size()))
      best = std::move(plan);
    found = true;
  }
  return best;
}
