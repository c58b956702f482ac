//===- StepLoop.h - The steps of one rank ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One object per rank, on the rank's thread. All ranks do the same things in the
// same order; only rank 0 talks.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_EXEC_STEPLOOP_H
#define PTLRT_EXEC_STEPLOOP_H

#include "runtime/data/BatchLoader.h"
#include "runtime/exec/Training.h"

namespace ptlrt {

class StepLoop {
public:
  StepLoop(Training &training, RankState &state);
  /// Runs until the last step, a signal or an error. Allocates nothing between the first steps and
  /// the end, unless a checkpoint is written.
  Status run();
  /// The first part of a step: loss and whole gradients.
  Status computeGradients(int64_t step);
  /// The second one: their norm, and what clipping makes of it.
  Status computeNorm();
  /// Saves gradients if that is asked for, and looks whether loss and norm are finite: an error, or
  /// the step's update is left out.
  Status beforeUpdate();
  /// The last part: new weights.
  Status update();

private:
  Status step(int64_t step);
  Status play(size_t index);
  /// Goes on with the table as far as the next `op`, or the first update.
  Status playUntil(uint32_t op);
  /// Asks the observer, if there is one, whether to go on.
  Status observe(Status (StepObserver::*at)(RankState &, bool &));
  void writeHypers(int64_t step);
  Status evaluate(int64_t step);
  Status evaluateOne(size_t index, std::span<double> results);
  void addOutputs(const OutputInfo &outputs, double weight, std::span<double> results);
  Status checkReplicas();
  Status compareWithFirst(const WeightInfo &weight, const std::string &name, TensorPart part);
  Status checkpointIfDue(int64_t step);
  Status reportStep(int64_t step, double seconds);
  /// Rank 0 prints and writes files.
  bool isTalker() const { return state.rank.rank == 0; }
  /// One rank of each process keeps account for it.
  bool isFirstHere() const { return &state == job.ranks().front().get(); }
  /// Rank 0 does `work` while the others wait.
  template <typename Work> Status alone(Work &&work);

  Training &training;
  RankState &state;
  Job &job;
  const ProgramInfo &info; ///< of this rank
  const Play &table;
  BatchLoader loader;
  std::vector<BatchLoader> evalLoaders;
  std::vector<int64_t> evalBatches;
  std::vector<float> metrics;
  std::vector<double> evaluation; ///< loss and metrics of each evaluation
  std::vector<uint8_t> replica;   ///< another rank's piece
  size_t position = 0;            ///< of the next move
  bool evaluated = false, skipped = false, ended = false;
};

} // namespace ptlrt

#endif // PTLRT_EXEC_STEPLOOP_H
