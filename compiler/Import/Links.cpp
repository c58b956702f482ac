//===- Links.cpp - Mesh axes on the links of a cluster --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Ranks are numbered by the mixed radix of their coordinates, and a node has
// consecutive ranks. So an axis stays inside of nodes if it and all axes inside of
// it make groups that nodes can be filled with; any other crosses from node to node.
//===----------------------------------------------------------------------===//
#include "compiler/Import/Links.h"

#include "llvm/ADT/STLExtras.h"

using namespace ptlc;

static llvm::SmallVector<import::PlacedAxis> orderOf(const sema::PlanSpec &plan) {
  llvm::SmallVector<import::PlacedAxis> order;
  for (unsigned axis : plan.place)
    order.push_back({axis});
  for (unsigned axis = 0; axis < plan.mesh.size(); axis++)
    if (!llvm::is_contained(plan.place, axis))
      order.push_back({axis});
  return order;
}

llvm::SmallVector<import::PlacedAxis> import::placeAxes(const sema::Program &program,
                                                        const sema::PlanSpec &plan) {
  llvm::SmallVector<PlacedAxis> order = orderOf(plan);
  if (!plan.cluster)
    return order;
  const sema::ClusterSpec &cluster = program.clusters[*plan.cluster];
  if (!cluster.devices || !cluster.intra || !cluster.inter)
    return order;
  auto devices = static_cast<int64_t>(*cluster.devices);
  double between = *cluster.intra / *cluster.inter;
  int64_t ranks = 1;
  for (PlacedAxis &placed : llvm::reverse(order)) {
    ranks *= plan.mesh[placed.axis].size;
    bool inside = plan.ranks() <= devices || (ranks <= devices && devices % ranks == 0);
    placed.link = inside ? std::max(1.0, 1 / between) : std::max(1.0, between);
  }
  return order;
}
