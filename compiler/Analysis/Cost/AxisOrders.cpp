//===- AxisOrders.cpp - Mesh axes on the links of a machine ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Cost/AxisOrders.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <map>
#include <tuple>

using namespace ptlc::cost;

/// Numbers of the ranks that differ from rank 0 on `axes` only.
static std::vector<int64_t> membersOf(const std::vector<int64_t> &sizes,
                                      const std::vector<unsigned> &order, AxisMask axes) {
  std::vector<int64_t> members{0};
  int64_t stride = 1;
  for (unsigned axis : llvm::reverse(order)) {
    size_t count = members.size();
    if (axes >> axis & 1)
      for (int64_t coordinate = 1; coordinate < sizes[axis]; ++coordinate)
        for (size_t i = 0; i < count; ++i)
          members.push_back(members[i] + coordinate * stride);
    stride *= sizes[axis];
  }
  return members;
}

Group ptlc::cost::groupOf(const Machine &machine, const std::vector<int64_t> &sizes,
                          const std::vector<unsigned> &order, AxisMask axes) {
  std::vector<int64_t> members = membersOf(sizes, order, axes);
  double local = static_cast<double>(llvm::count_if(
      members, [&](int64_t rank) { return rank < static_cast<int64_t>(machine.devices); }));
  return {static_cast<double>(members.size()), local};
}

double ptlc::cost::shareBetween(const Machine &machine, const std::vector<int64_t> &sizes,
                                const std::vector<unsigned> &order, unsigned axis, int64_t from,
                                int64_t to) {
  int64_t stride = 1;
  for (size_t place = order.size(); order[--place] != axis;)
    stride *= sizes[order[place]];
  AxisMask others = ((AxisMask(1) << sizes.size()) - 1) & ~(AxisMask(1) << axis);
  std::vector<int64_t> members = membersOf(sizes, order, others);
  auto devices = static_cast<int64_t>(machine.devices);
  auto crossing = llvm::count_if(members, [&](int64_t rank) {
    return (rank + from * stride) / devices != (rank + to * stride) / devices;
  });
  return static_cast<double>(crossing) / static_cast<double>(members.size());
}

namespace {
/// One order while its traffic is added.
class OrderSum {
public:
  OrderSum(const Times &times, const std::vector<int64_t> &sizes, AxisOrder &order)
      : times(times), sizes(sizes), order(order) {}
  /// Adds what each of `ranks` ranks does.
  void add(const std::vector<GroupTraffic> &program, double ranks);

private:
  double secondsOf(const GroupTraffic &traffic, const Group &group, double leaving) const;
  const Group &groupOf(AxisMask axes);
  double leavingOf(const GroupTraffic &traffic, const Group &group) const;

  const Times &times;
  const std::vector<int64_t> &sizes;
  AxisOrder &order;
  std::map<AxisMask, Group> groups;
};
} // namespace

double OrderSum::secondsOf(const GroupTraffic &traffic, const Group &group, double leaving) const {
  double n = group.size, share = (n - 1) / n;
  switch (traffic.kind) {
  case TransferKind::AllReduce:
    return times.allReduce(traffic.bytes / (2 * share), group);
  case TransferKind::AllGather:
  case TransferKind::ReduceScatter:
    return times.allGather(traffic.bytes / share, group);
  case TransferKind::AllToAll:
    return times.allToAll(traffic.bytes / share, group);
  case TransferKind::Permute:
    return times.point(traffic.bytes, leaving > 0);
  }
  return 0;
}

const Group &OrderSum::groupOf(AxisMask axes) {
  auto [found, isNew] = groups.try_emplace(axes);
  if (isNew)
    found->second = ptlc::cost::groupOf(times.machine, sizes, order.axes, axes);
  return found->second;
}

/// The share of the bytes that leaves a node.
double OrderSum::leavingOf(const GroupTraffic &traffic, const Group &group) const {
  if (traffic.from >= 0)
    return shareBetween(times.machine, sizes, order.axes,
                        static_cast<unsigned>(llvm::countr_zero(traffic.axes)), traffic.from,
                        traffic.to);
  return group.nodes() > 1 ? group.nodes() / group.size : 0;
}

void OrderSum::add(const std::vector<GroupTraffic> &program, double ranks) {
  double seconds = 0;
  for (const GroupTraffic &traffic : program) {
    const Group &group = groupOf(traffic.axes);
    if (group.size <= 1)
      continue;
    double leaving = leavingOf(traffic, group), bytes = traffic.bytes * traffic.times * ranks;
    seconds += secondsOf(traffic, group, leaving) * traffic.times;
    order.inside += bytes * (1 - leaving);
    order.between += bytes * leaving;
  }
  order.seconds = std::max(order.seconds, seconds);
}

std::vector<AxisOrder>
ptlc::cost::rankOrders(const Times &times, const std::vector<int64_t> &sizes,
                       const std::vector<unsigned> &outermost,
                       const std::vector<std::vector<GroupTraffic>> &programs) {
  std::vector<unsigned> rest;
  for (unsigned axis = 0; axis < sizes.size(); ++axis)
    if (!llvm::is_contained(outermost, axis))
      rest.push_back(axis);
  auto ranks = static_cast<double>(llvm::product_of(sizes));
  std::vector<AxisOrder> orders;
  do {
    AxisOrder order{outermost};
    order.axes.insert(order.axes.end(), rest.begin(), rest.end());
    OrderSum sum(times, sizes, order);
    for (const std::vector<GroupTraffic> &program : programs)
      sum.add(program, ranks / static_cast<double>(programs.size()));
    orders.push_back(std::move(order));
  } while (std::next_permutation(rest.begin(), rest.end()));
  llvm::sort(orders, [](const AxisOrder &a, const AxisOrder &b) {
    return std::tie(a.seconds, a.axes) < std::tie(b.seconds, b.axes);
  });
  return orders;
}
