//===- AxisOrders.h - Mesh axes on the links of a machine -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Ranks are numbered by the mixed radix of their coordinates, the outermost axis first, and a node
// has consecutive ranks. So the order of axes decides which groups lie inside of nodes.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_ANALYSIS_COST_AXISORDERS_H
#define PTLC_COMPILER_ANALYSIS_COST_AXISORDERS_H

#include "compiler/Analysis/Cost/Profile.h"
#include "compiler/Analysis/Cost/Times.h"

namespace ptlc::cost {

/// What the ranks of a group do together, `times` a step. Axes are bits, by their place in a list.
struct GroupTraffic {
  TransferKind kind = TransferKind::AllReduce;
  AxisMask axes = 0;
  double bytes = 0; ///< that a rank receives, each time
  double times = 1;
  /// Of a message along the only axis of `axes`: its coordinates there; -1: all ranks take part.
  int64_t from = -1, to = -1;
};

/// Axes on links, and what the traffic costs there.
struct AxisOrder {
  std::vector<unsigned> axes; ///< the outermost first
  double seconds = 0;         ///< of a rank's communication in a step, nothing overlapped
  /// Bytes that all ranks receive in a step, over links inside of nodes and between them: of a ring
  /// through the members of a group as ranks are numbered, the hops that leave a node.
  double inside = 0, between = 0;
};

/// Returns the group of `axes` in a mesh of these `sizes` whose axes lie as in `order`: its ranks,
/// and how many of them share a node.
Group groupOf(const Machine &machine, const std::vector<int64_t> &sizes,
              const std::vector<unsigned> &order, AxisMask axes);

/// Returns the share of the ranks with coordinate `to` on `axis` that aren't on the node of the
/// rank which differs from them in having `from` there.
double shareBetween(const Machine &machine, const std::vector<int64_t> &sizes,
                    const std::vector<unsigned> &order, unsigned axis, int64_t from, int64_t to);

/// Returns all orders of the axes that begin with `outermost`, the least time first; of equal ones
/// the one that is nearer to the order of `sizes`. n! orders of n axes. `programs` has the traffic
/// of each stage of a pipeline, or one list for all ranks; the slowest of them counts.
std::vector<AxisOrder> rankOrders(const Times &times, const std::vector<int64_t> &sizes,
                                  const std::vector<unsigned> &outermost,
                                  const std::vector<std::vector<GroupTraffic>> &programs);

} // namespace ptlc::cost

#endif // PTLC_COMPILER_ANALYSIS_COST_AXISORDERS_H
