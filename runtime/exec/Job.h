//===- Job.h - A program, its options and its ranks -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What training and sampling share: the program with the command line's values
// put in, where weights come from, the ranks' memory and threads, and the first
// failure of any of them.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_EXEC_JOB_H
#define PTLRT_EXEC_JOB_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/comm/mpi/Processes.h"
#include "runtime/device/cpu/Device.h"
#include "runtime/exec/Options.h"
#include "runtime/exec/Play.h"
#include "runtime/exec/RankState.h"
#include "runtime/exec/WeightStore.h"
#include <functional>
#include <mutex>

namespace ptlrt {

class Job {
public:
  /// Reads `program`, checks this machine, applies `options`, opens the files that weights come
  /// from. With `processes` this process has one of the ranks, else all of them.
  static Expected<std::unique_ptr<Job>>
  create(const ptlrt_program_t &program, const Options &options, Processes *processes = nullptr);
  ~Job();

  /// What a rank runs.
  const ptlrt_program_t &program(int rank) const {
    return code.part_count > 0 ? code.parts[programs.partOf(rank)] : code;
  }
  /// What all ranks run together, and what each runs.
  const ProgramInfo &info() const { return programs.whole(); }
  const ProgramInfo &info(int rank) const { return programs.of(rank); }
  const ProgramSet &set() const { return programs; }
  const Play &play(int rank) const { return plays[rank]; }
  const Options &options() const { return wishes; }
  const std::optional<Checkpoint> &resumed() const { return checkpoint; }
  int threadsPerRank() const;
  /// Whether this process has rank 0, which prints and writes files.
  bool isTalker() const { return !processes || processes->rank() == 0; }

  /// Gets the memory of this process's ranks and connects them.
  Status allocate();
  /// What a rank computes with.
  std::unique_ptr<cpu::Device> makeDevice() const;
  /// Puts a rank's weights in place, with the threads of its device.
  void fill(RankState &state) const;
  /// Waits for the ranks of other processes, which may read this one's memory meanwhile. Returns
  /// `status`, or an error if another process comes with one.
  Status settle(Status status) const;
  /// Gives the bytes of `mine`, one entry for each rank of this process, to the talker.
  std::vector<std::vector<uint8_t>> collect(std::vector<std::vector<uint8_t>> mine) const;
  std::span<const std::unique_ptr<RankState>> ranks() const { return states; }
  /// The first rank's connection to the others, while they wait or have ended.
  Communicator &comm() const { return *states.front()->comm; }

  /// Runs `body` for each rank of this process on a thread of its own, with its weights in place.
  /// Returns the first error of any rank, which ended all; the message names the rank and the step.
  /// If ranks are processes, an error that only some of them meet ends them all here.
  Status runRanks(const std::function<Status(RankState &)> &body);
  /// For errors that all ranks meet alike: their message doesn't name a rank.
  void failEverywhere() { isEverywhere = true; }

private:
  Job(const ptlrt_program_t &program, ProgramSet set, const Options &options, Processes *processes)
      : code(program), programs(std::move(set)), wishes(options), processes(processes) {}
  Status readPlays();
  /// Leaves what a check compares: its steps, without evaluation and checkpoints.
  Status limitToCheck();
  std::string describeRanks() const; ///< of the mesh, for messages
  Status checkProcesses() const;
  /// Ranks that share this machine.
  int ranksHere() const { return processes ? processes->here() : info().mesh.ranks(); }
  Expected<WaitPolicy> waitPolicy() const;
  Status connect(const WaitPolicy &policy);
  Status applyOptions(ProgramInfo &description) const;
  Status checkSet(const std::string &text) const;
  void applySet(const std::string &text, ProgramInfo &description) const;
  Status applyData();
  Status openWeights();
  Status openResume();
  Status openInit(const InitInfo &init);
  void runRank(RankState &state, const std::function<Status(RankState &)> &body);
  void record(const RankState &state, const Status &status);

  const ptlrt_program_t &code;
  ProgramSet programs;
  std::vector<Play> plays; ///< by rank
  Options wishes;
  Processes *processes;
  std::optional<Checkpoint> checkpoint;
  std::vector<SafetensorsFile> initFiles;
  /// Weights, then states, of all ranks.
  std::vector<TensorOrigin> origins;
  std::vector<TensorPart> originParts;

  cpu::DeviceOptions deviceOptions;
  std::unique_ptr<World> world;
  std::vector<std::unique_ptr<RankState>> states;
  std::mutex failureLock;
  Status firstFailure;
  std::atomic<bool> isEverywhere{false};
};

/// Threads for each of `ranks` that share so many `cores`. This process may be bound to some of
/// them, which it may share with other ranks.
int threadsFor(int cores, int bound, int ranks);

/// Checks that this CPU has `features`, names as LLVM's ("avx2").
Status checkFeatures(std::span<const std::string> features, const std::string &compiledFor);

} // namespace ptlrt

#endif // PTLRT_EXEC_JOB_H
