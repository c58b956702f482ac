//===- ReshardSteps.cpp - What may follow a sharding ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Sharding/ReshardSteps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace ptlc::sharding;
using llvm::ArrayRef;
using llvm::SmallVector;

llvm::StringRef ptlc::sharding::stepName(StepKind kind) {
  static constexpr const char *kNames[] = {
      "slice", "mask", "all_gather", "all_to_all", "reduce_scatter", "all_reduce", "permute"};
  return kNames[static_cast<size_t>(kind)];
}

double ptlc::sharding::costOf(const Plan &plan) {
  double total = 0;
  for (const Step &step : plan)
    total += step.cost;
  return total;
}

int64_t ptlc::sharding::bytesOf(const Plan &plan) {
  int64_t total = 0;
  for (const Step &step : plan)
    total += step.bytes;
  return total;
}

static int64_t elements(ArrayRef<int64_t> shape) {
  int64_t product = 1;
  for (int64_t size : shape)
    product *= size;
  return product;
}

Step Stepper::make(StepKind kind, AxisList axes, int dim, int to, const Sharding &source,
                   Sharding target) const {
  Step step{kind, std::move(axes), dim, to, source, std::move(target), 0, 0};
  if (kind == StepKind::Slice || kind == StepKind::Mask)
    return step;
  int64_t group = mesh.product(step.axes), count = 0;
  auto from = localShape(mesh, shape, source), local = localShape(mesh, shape, step.target);
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

static AxisList joined(AxisList list, const AxisList &more) {
  list.append(more.begin(), more.end());
  return list;
}

static AxisList withoutLast(const AxisList &list, const AxisList &suffix) {
  return AxisList(list.begin(), list.end() - suffix.size());
}

Step Stepper::slice(const Sharding &from, size_t dim, AxisId axis) const {
  return make(StepKind::Slice, {axis}, dim, -1, from,
              from.withDim(dim, joined(from.dims[dim], {axis})));
}

Step Stepper::mask(const Sharding &from, AxisId axis, Fold kind) const {
  Sharding target = from.withPartial(from.partial | axisBit(axis));
  target.kind = from.partial ? from.kind : kind;
  return make(StepKind::Mask, {axis}, -1, -1, from, target);
}

/// Calls `use` with every ordered choice of 1 to `most` of `axes`.
template <typename Use>
static void forOrders(ArrayRef<AxisId> axes, size_t most, AxisList &chosen, Use use) {
  if (!chosen.empty())
    use(chosen);
  if (chosen.size() == most)
    return;
  for (AxisId axis : axes) {
    if (llvm::is_contained(chosen, axis))
      continue;
    chosen.push_back(axis);
    forOrders(axes, most, chosen, use);
    chosen.pop_back();
  }
}

/// Of small tensors in large groups most of what the formula counts is padding. Over links of one
/// class one fold is never dearer than two in turn, or than scattering, folding parts and
/// gathering.
void Stepper::dropPadding(Step &step) const {
  const Axis &first = mesh[step.axes.front()];
  bool even = elements(localShape(mesh, shape, step.source)) % mesh.product(step.axes) == 0;
  if (even || llvm::any_of(step.axes, [&](AxisId axis) { return !mesh[axis].hasLinkOf(first); }))
    return;
  auto atMost = [&](const Plan &way) {
    auto known = std::tie(step.cost, step.bytes);
    if (std::tuple found(costOf(way), bytesOf(way)); found < known)
      known = found;
  };
  AxisList chosen;
  forOrders(step.axes, step.axes.size() - 1, chosen, [&](const AxisList &part) {
    if (!llvm::is_sorted(part))
      return; // the order changes no size
    AxisList others;
    llvm::copy_if(step.axes, std::back_inserter(others),
                  [&](AxisId axis) { return !llvm::is_contained(part, axis); });
    Step fold = allReduce(step.source, part);
    atMost({fold, allReduce(fold.target, others)});
    for (size_t dim = 0; dim < shape.size(); dim++) {
      Step scatter = reduceScatter(step.source, dim, part);
      Step inner = allReduce(scatter.target, others);
      atMost({scatter, inner, allGather(inner.target, dim, part)});
    }
  });
}

Step Stepper::allReduce(const Sharding &from, const AxisList &axes) const {
  Step step =
      make(StepKind::AllReduce, axes, -1, -1, from, from.withPartial(from.partial & ~setOf(axes)));
  if (axes.size() > 1)
    dropPadding(step);
  return step;
}

Step Stepper::reduceScatter(const Sharding &from, size_t dim, const AxisList &axes) const {
  Sharding target = from.withDim(dim, joined(from.dims[dim], axes));
  return make(StepKind::ReduceScatter, axes, dim, -1, from,
              target.withPartial(from.partial & ~setOf(axes)));
}

Step Stepper::allGather(const Sharding &from, size_t dim, const AxisList &axes) const {
  return make(StepKind::AllGather, axes, dim, -1, from,
              from.withDim(dim, withoutLast(from.dims[dim], axes)));
}

Step Stepper::allToAll(const Sharding &from, size_t dim, size_t to, const AxisList &axes) const {
  Sharding target = from.withDim(dim, withoutLast(from.dims[dim], axes));
  return make(StepKind::AllToAll, axes, dim, to, from,
              target.withDim(to, joined(from.dims[to], axes)));
}

Step Stepper::permute(const Sharding &from, const Sharding &target) const {
  return make(StepKind::Permute, permutedAxes(mesh, from, target), -1, -1, from, target);
}

/// An axis in the same place of both lists keeps its coordinate if as many shards lie behind it.
static AxisList movedAxes(const Mesh &mesh, const AxisList &source, const AxisList &target) {
  AxisList moved;
  for (size_t i = 0; i < source.size(); i++)
    if (source[i] != target[i] || mesh.product(ArrayRef(source).drop_front(i)) !=
                                      mesh.product(ArrayRef(target).drop_front(i)))
      moved.append({source[i], target[i]});
  return moved;
}

AxisList ptlc::sharding::permutedAxes(const Mesh &mesh, const Sharding &source,
                                      const Sharding &target) {
  AxisList moved;
  for (size_t dim = 0; dim < source.dims.size(); dim++)
    moved = joined(moved, movedAxes(mesh, source.dims[dim], target.dims[dim]));
  llvm::sort(moved);
  moved.erase(llvm::unique(moved), moved.end());
  return moved;
}

/// Lists of equal sizes cut alike; of others all shards are compared, once.
bool Stepper::cutAlike(int64_t size, const AxisList &source, const AxisList &target) const {
  auto sizesOf = [&](const AxisList &list) {
    SmallVector<int64_t, 4> sizes;
    for (AxisId axis : list)
      sizes.push_back(mesh[axis].size);
    return sizes;
  };
  auto key = std::tuple(size, sizesOf(source), sizesOf(target));
  if (std::get<1>(key) == std::get<2>(key))
    return true;
  auto [found, isNew] = alike.try_emplace(key, false);
  if (isNew)
    found->second = mesh.product(source) == mesh.product(target) &&
                    allExtents(mesh, size, source) == allExtents(mesh, size, target);
  return found->second;
}

bool Stepper::canPermute(const Sharding &source, const Sharding &target) const {
  if (source.partial != target.partial || (source.partial & target.used()) || source == target)
    return false;
  for (size_t i = 0; i < shape.size(); i++)
    if (source.dims[i].size() != target.dims[i].size() ||
        !cutAlike(shape[i], source.dims[i], target.dims[i]))
      return false;
  SmallVector<int64_t> freed, taken;
  AxisSet before = source.used(), after = target.used();
  for (AxisId axis = 0; axis < mesh.size(); axis++) {
    if (before & ~after & axisBit(axis))
      freed.push_back(mesh[axis].size);
    if (after & ~before & axisBit(axis))
      taken.push_back(mesh[axis].size);
  }
  llvm::sort(freed);
  llvm::sort(taken);
  return freed == taken;
}

static AxisList listOf(const Mesh &mesh, AxisSet set) {
  AxisList list;
  for (AxisId axis = 0; axis < mesh.size(); axis++)
    if (set & axisBit(axis))
      list.push_back(axis);
  return list;
}

void Stepper::addReductions(const Sharding &from, std::vector<Step> &out) const {
  AxisList chosen, pending = listOf(mesh, from.partial);
  forOrders(pending, pending.size(), chosen, [&](const AxisList &group) {
    if (llvm::is_sorted(group))
      out.push_back(allReduce(from, group));
    for (size_t dim = 0; dim < shape.size(); dim++)
      out.push_back(reduceScatter(from, dim, group));
  });
}

void Stepper::addMoves(const Sharding &from, std::vector<Step> &out) const {
  for (size_t dim = 0; dim < shape.size(); dim++)
    for (size_t begin = 0; begin < from.dims[dim].size(); begin++) {
      AxisList suffix(from.dims[dim].begin() + begin, from.dims[dim].end());
      out.push_back(allGather(from, dim, suffix));
      for (size_t other = 0; other < shape.size(); other++)
        if (other != dim)
          out.push_back(allToAll(from, dim, other, suffix));
    }
}

void Stepper::addPermutes(const Sharding &from, std::vector<Step> &out) const {
  size_t count = llvm::popcount(from.used());
  AxisList chosen, available = listOf(mesh, ~from.partial);
  llvm::erase_if(available, [&](AxisId axis) { return mesh[axis].divides; });
  if (count == 0 || available.size() < 2)
    return;
  forOrders(available, count, chosen, [&](const AxisList &order) {
    if (order.size() != count)
      return;
    Sharding target = from;
    size_t next = 0;
    for (AxisList &list : target.dims)
      for (AxisId &axis : list)
        axis = order[next++];
    if (canPermute(from, target))
      out.push_back(permute(from, target));
  });
}

std::vector<Step> Stepper::successors(const Sharding &from, Fold kind) const {
  std::vector<Step> out;
  for (AxisId axis = 0; axis < mesh.size(); axis++) {
    if (((from.used() | from.partial) & axisBit(axis)) || mesh[axis].divides)
      continue;
    for (size_t dim = 0; dim < shape.size(); dim++)
      out.push_back(slice(from, dim, axis));
    out.push_back(mask(from, axis, kind));
  }
  addReductions(from, out);
  addMoves(from, out);
  addPermutes(from, out);
  return out;
}
