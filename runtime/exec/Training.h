//===- Training.h - The training run --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Plays the program's table once per step on every rank, and does what surrounds
// it: data, schedules, evaluation, checkpoints, reports.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_EXEC_TRAINING_H
#define PTLRT_EXEC_TRAINING_H

#include "runtime/data/DataSource.h"
#include "runtime/exec/Job.h"
#include "runtime/metrics/Counters.h"
#include "runtime/metrics/Reporter.h"

namespace ptlrt {

/// Looks at a run from outside. Each rank calls it; `ended` = true, for all of them alike, ends the
/// run there.
class StepObserver {
public:
  virtual ~StepObserver() = default;
  /// Gradients are whole, the norm is known.
  virtual Status beforeUpdate(RankState &state, bool &ended) = 0;
  virtual Status afterUpdate(RankState &state, bool &ended) = 0;
};

class Training {
public:
  explicit Training(Job &job, StepObserver *observer = nullptr)
      : job(job), info(job.info()), observer(observer) {}
  /// Opens the data and runs all steps. The result is the exit status of the process.
  Expected<int> run();
  /// Opens the data, gets the ranks' memory.
  Status prepare();

private:
  friend class StepLoop;

  Status openSources();
  void announce();
  Status openReporter();
  Status finish();
  Status writeResults();
  /// Called by rank 0 while the others wait.
  Status writeGradients();
  Status saveCheckpoint();
  Status writeReport();
  Status writeTraceFile();
  void printCounters();
  /// Brings what the ranks counted and traced to the process that writes it.
  void collectRecords();
  /// What the ranks of each program did together, and what they moved.
  struct Ledger {
    std::vector<Collective> entries;
    std::vector<CollectiveCount> counts;
    std::vector<size_t> parts; ///< the program of each
  };
  Ledger countTraffic() const;
  BatchOrder orderOf(const DataSpec &data, const DataSource &source, bool forTraining) const;

  Job &job;
  const ProgramInfo &info;
  StepObserver *observer;
  std::unique_ptr<DataSource> source;
  std::vector<std::unique_ptr<DataSource>> evalSources; ///< of info.evals
  std::optional<Reporter> reporter;
  std::vector<std::vector<uint8_t>> traffic, traces; ///< records of each rank, after the run
  int64_t firstStep = 0;
  int64_t nextStep = 0;   ///< written by the first rank of this process
  int64_t savedStep = -1; ///< of the newest checkpoint that this run wrote
  int stopped = 0;        ///< the signal that ended the run early
};

} // namespace ptlrt

#endif // PTLRT_EXEC_TRAINING_H
