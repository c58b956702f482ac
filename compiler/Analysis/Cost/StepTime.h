//===- StepTime.h - How long a step takes -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_ANALYSIS_COST_STEPTIME_H
#define PTLC_COMPILER_ANALYSIS_COST_STEPTIME_H

#include "compiler/Analysis/Cost/Layout.h"
#include "compiler/Analysis/Cost/Times.h"

namespace ptlc::cost {

/// Where the axes of a layout lie on a machine.
class Placement {
public:
  Placement(const Profile &profile, const Layout &layout, const Machine &machine);

  /// The ranks that differ on the axes of `mask` alone.
  Group group(AxisMask mask) const;
  /// All data ranks, or `size` of them: neighbours, or with `outer` those that `size` apart.
  Group data(double size, bool outer = false) const;
  double ranksBetweenStages() const { return stageStride; }
  bool stagesCrossNodes() const { return crosses; }

private:
  const Profile &profile;
  const Machine &machine;
  std::vector<double> strides; ///< of the profile's axes
  double dataRanks, dataStride = 1, stageStride = 1;
  bool crosses = false;
};

/// Seconds of one unit and one micro-batch on one rank.
struct UnitTime {
  double forward = 0;
  double backward = 0; ///< gradients of inputs, with collectives that nothing hides
  double weight = 0;   ///< gradients of weights, with what running beside collectives costs
  double core = 0;     ///< of the forward: scores, softmax, drop-out
  double attends = 0;  ///< of the forward: the weighted sum, or a fused attention
  double gather = 0;   ///< to gather inputs of products again, beyond what products hide
  double flops = 0, forwardFlops = 0, coreFlops = 0, attendFlops = 0;
  double tensorBytes = 0, forwardTensorBytes = 0; ///< that a rank sends
};

/// The times of a profile's units under the layout's order and flags; they don't depend on its
/// stages, micro-batches, `zero` or `remat`.
std::vector<UnitTime> unitTimes(const Profile &profile, const Layout &layout, const Times &times);

/// One step. All are seconds of the slowest rank, unless said.
struct StepTime {
  double total = 0;
  double pipeline = 0; ///< all micro-batches, with waiting
  double bubble = 0;   ///< of that, waiting of the slowest stage
  double data = 0;     ///< gradients and weights between data ranks, beyond what is hidden
  double tie = 0;      ///< gradients of tied weights between stages
  double update = 0;
  double flops = 0;      ///< of all ranks, with what is computed again
  double modelFlops = 0; ///< without
  double tensorBytes = 0, dataBytes = 0, stageBytes = 0; ///< that a rank sends

  double idleShare() const { return total > 0 ? bubble / total : 0; }
};

/// One stage: seconds of a micro-batch and, of the last two, of a step.
struct StageTime {
  double forward = 0;
  double backward = 0; ///< gradients of inputs, with what is computed again
  double weight = 0;   ///< gradients of weights
  double loss = 0;     ///< of the last stage: what stands behind all parts, forward and backward
  double reduce = 0;   ///< gradients between data ranks
  double update = 0;   ///< with weights that are gathered behind it

  double both() const { return backward + weight; }
};

/// The times of each row of units in `stages`; pipelines may have several on a rank.
std::vector<StageTime> stageTimes(const Profile &profile, const std::vector<UnitTime> &units,
                                  const Layout &layout, const Times &times,
                                  const std::vector<std::vector<unsigned>> &stages);

/// Bytes that a rank sends to the next stage for a micro-batch.
double edgeBytes(const Profile &profile, const Layout &layout);

/// Gradients of weights that several of `stages` use.
double tieTime(const Profile &profile, const Layout &layout, const Times &times,
               const std::vector<std::vector<unsigned>> &stages);

StepTime timeOf(const Profile &profile, const std::vector<UnitTime> &units, const Layout &layout,
                const Times &times);

/// Time of all micro-batches on `stages` ranks, by closed forms; per rank the times of a whole
/// stage. `edge`: of one transfer between stages.
double pipelineTime(const Layout &layout, const std::vector<double> &forward,
                    const std::vector<double> &backward, const std::vector<double> &weight,
                    double edge);

} // namespace ptlc::cost

#endif // PTLC_COMPILER_ANALYSIS_COST_STEPTIME_H
