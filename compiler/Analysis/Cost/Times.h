//===- Times.h - How long a kernel or a collective takes --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Seconds. `bytes` of a collective are those of the whole buffer: what every rank
// has after an all-gather or before a reduce-scatter.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_ANALYSIS_COST_TIMES_H
#define PTLC_COMPILER_ANALYSIS_COST_TIMES_H

#include "compiler/Analysis/Cost/Machine.h"
#include "compiler/Analysis/Cost/Profile.h"

namespace ptlc::cost {

class Times {
public:
  Times(const Machine &machine, const Constants &constants)
      : machine(machine), constants(constants) {}

  /// `batch` products (m, k) x (k, n): whole waves of the best tile, at least the time to read and
  /// write the operands of `width` bytes. `efficiency` multiplies the rate.
  double product(double m, double n, double k, double batch = 1, double efficiency = 1,
                 double width = 2) const;
  double stream(double bytes, double kernels = 1) const;
  double attention(double flops, double bytes, double kernels, double width = 2) const;

  /// The best of ring, tree, direct and hierarchical forms.
  double allReduce(double bytes, const Group &group) const;
  double allGather(double bytes, const Group &group) const; ///< and a reduce-scatter
  /// `bytes`: what a rank has.
  double allToAll(double bytes, const Group &group) const;
  double point(double bytes, bool betweenNodes) const;
  /// The parts of point(): to start a message, and bytes per second.
  double pointLatency(bool betweenNodes) const;
  double pointRate(bool betweenNodes) const;

  const Machine machine;
  const Constants constants;

private:
  double hop(const Group &group) const;
  double inside() const { return machine.intra * constants.intra; }
  double between() const { return machine.inter * constants.interCollective; }
  double bus(const Group &group) const {
    return group.nodes() <= 1 ? inside() : std::min(inside(), group.local * between());
  }
};

} // namespace ptlc::cost

#endif // PTLC_COMPILER_ANALYSIS_COST_TIMES_H
