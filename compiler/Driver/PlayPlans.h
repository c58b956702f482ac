//===- PlayPlans.h - Pipelines of planned layouts, played -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_PLAYPLANS_H
#define PTLC_COMPILER_DRIVER_PLAYPLANS_H

#include "compiler/Analysis/Cost/Planner.h"
#include "compiler/Schedule/Simulate.h"

#include <array>
#include <map>

namespace ptlc {

/// Seconds of each row of units in `stages` on a machine, and a link for each pair of `ranks`.
schedule::Costs predictedCosts(const cost::Profile &profile, const cost::Layout &layout,
                               const cost::Times &times, int ranks,
                               const std::vector<std::vector<unsigned>> &stages);

/// Seconds of all micro-batches of a pipeline, by playing its table. Of many micro-batches some
/// rounds are played, and the rest takes as long as the last of them. Nullopt if its schedule has
/// no such table.
std::optional<double> playedSeconds(const cost::Profile &profile, const cost::Layout &layout,
                                    const cost::Times &times);

/// Replaces the closed form in `time` by playedSeconds(), where both are known.
void playPipeline(const cost::Profile &profile, const cost::Layout &layout,
                  const cost::Times &times, cost::StepTime &time);

/// Ranks the plans of a search again, by played pipelines: the best, those that count as equally
/// fast, and the best of each kind.
class PlanPlayer {
public:
  PlanPlayer(cost::ProfileSource &source, const cost::PlanSpace &space, const cost::Times &times)
      : source(source), space(space), times(times) {}
  /// At least `shown` plans come out in the order of their played times.
  void rankAgain(cost::Search &search, size_t shown);

private:
  using Key = std::array<double, 12>;
  static Key keyOf(const cost::Candidate &candidate);
  /// Returns whether the time was replaced.
  bool play(cost::Candidate &candidate);

  cost::ProfileSource &source;
  const cost::PlanSpace &space;
  const cost::Times &times;
  std::map<Key, std::optional<double>> known;
  double work = 0; ///< of what was played so far
};

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_PLAYPLANS_H
