//===- AxisOrders.cpp - Mesh axes on the links of a machine ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Cost/AxisOrders.h"

#include "llvm/ADT/STLExtras.h"

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

static double secondsOf(const Times &times, const GroupTraffic &traffic, const Group &group) {
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
    return times.point(traffic.bytes, group.nodes() > 1);
  }
  return 0;
}

static void addTraffic(const Times &times, const GroupTraffic &traffic, const Group &group,
                       AxisOrder &order) {
  if (group.size <= 1)
    return;
  double leaving = group.nodes() > 1 ? group.nodes() / group.size : 0;
  double bytes = traffic.bytes * traffic.times;
  order.seconds += secondsOf(times, traffic, group) * traffic.times;
  order.inside += bytes * (1 - leaving);
  order.between += bytes * leaving;
}

std::vector<AxisOrder> ptlc::cost::rankOrders(const Times &times, const std::vector<int64_t> &sizes,
                                              const std::vector<unsigned> &outermost,
                                              const std::vector<GroupTraffic> &traffic) {
  std::vector<unsigned> rest;
  for (unsigned axis = 0; axis < sizes.size(); ++axis)
    if (!llvm::is_contained(outermost, axis))
      rest.push_back(axis);
  std::vector<AxisOrder> orders;
  do {
    AxisOrder order{outermost};
    order.axes.insert(order.axes.end(), rest.begin(), rest.end());
    std::map<AxisMask, Group> groups;
    for (const GroupTraffic &each : traffic) {
      auto [found, isNew] = groups.try_emplace(each.axes);
      if (isNew)
        found->second = groupOf(times.machine, sizes, order.axes, each.axes);
      addTraffic(times, each, found->second, order);
    }
    orders.push_back(std::move(order));
  } while (std::next_permutation(rest.begin(), rest.end()));
  llvm::sort(orders, [](const AxisOrder &a, const AxisOrder &b) {
    return std::tie(a.seconds, a.axes) < std::tie(b.seconds, b.axes);
  });
  return orders;
}
