//===- ProgramInfo.h - A compiled program as the runtime sees it ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// The metadata of a program, parsed and checked: after readProgram() every axis,
// offset, layout and index is known to be in range. runtime/doc/ABI.md holds the
// schema.
//===----------------------------------------------------------------------===//
#ifndef PTLRT_EXEC_PROGRAMINFO_H
#define PTLRT_EXEC_PROGRAMINFO_H

#include "ptlrt/ptlrt.h"
#include "runtime/comm/Message.h"
#include "runtime/comm/Collective.h"
#include "runtime/data/DataSpec.h"
#include "runtime/exec/Schedule.h"
#include "runtime/memory/Initial.h"

namespace ptlrt {

/// An optimizer's state of one weight; named "path#m" in files.
struct StateInfo {
  std::string name;
  Storage storage;
};

struct WeightInfo {
  TensorInfo tensor; ///< name: the path
  Initial initial;
  bool frozen = false;
  std::string line;                   ///< where it is declared, or empty
  std::optional<TensorInfo> gradient; ///< of f32 or bf16
  std::vector<StateInfo> states;

  Storage storage() const { return tensor.storage(); }
};

/// A number that the runtime writes before each step.
struct HyperInfo {
  std::string name; ///< "lr", "beta1", …, "clip"
  int64_t group = 0;
  double value = 0;
  int64_t offset = 0;
  bool scheduled = false;
};

struct MetricInfo {
  std::string name;
  int64_t offset = 0;
};
struct OutputInfo {
  int64_t loss = -1, gradNorm = -1; ///< offsets; gradNorm is -1 if there is none
  std::string line;                 ///< of the loss, or empty
  std::vector<MetricInfo> metrics;
};

struct EvalInfo {
  DataSpec data;
  int64_t every = 0, batches = 0; ///< batches 0: the whole data
  int64_t function = 0;
  std::optional<int64_t> end; ///< makes the outputs of what `function` added up
  OutputInfo outputs;
};

struct SampleInfo {
  int64_t function = 0;
  std::optional<TensorInfo> field;  ///< [1, seq]; none if this rank's stages don't read it
  std::optional<TensorInfo> logits; ///< [1, seq, vocab]; none if another stage makes them
  int64_t vocab = 0, seq = 0;
};

struct InitInfo {
  std::string file, prefix;
  std::vector<size_t> weights; ///< those that it gives values; empty: all below `prefix`
  std::string line;            ///< where it is written, or empty
};

struct CheckpointInfo {
  std::string directory;
  int64_t every = 0; ///< 0: at the end only
};

/// What a rank of a pipeline sends or receives over an edge.
struct MessageInfo {
  uint8_t op = 0; ///< ptlrt_schedule_op
  int edge = 0;
  std::string line;
  std::vector<MessageSegment> segments;
};
/// What a rank gives to another stage's, and takes from it: sums of tied weights, or, in evaluation
/// and sampling, values in one direction.
struct ExchangeInfo {
  int peer = 0;      ///< coordinate on the pipeline's axis
  int64_t times = 1; ///< in a step
  std::string line, reason;
  std::vector<MessageSegment> sent, received;
};
struct PipelineInfo {
  int axis = 0;
  std::vector<MessageInfo> messages;
  std::vector<ExchangeInfo> exchanges;
};

struct ProgramInfo {
  std::string model, source, compiler, cpu;
  std::vector<std::string> features;
  Mesh mesh;
  std::string meshLine; ///< where the plan gives it, or empty
  int64_t arenaBytes = 0, persistentBytes = 0, slotBytes = 0, microBytes = 0, scratchBytes = 0;
  std::vector<WeightInfo> weights;
  DataSpec data;
  int64_t batch = 1, microbatches = 1, steps = 1, tokensPerSample = 1;
  uint64_t seed = 0;
  std::vector<HyperInfo> hypers;
  Schedule schedule;
  bool skipNonfinite = false;
  bool bf16 = false; ///< some values are stored in bf16
  OutputInfo outputs;
  std::vector<EvalInfo> evals;
  std::optional<CheckpointInfo> checkpoint;
  std::vector<InitInfo> inits;
  std::optional<SampleInfo> sample;
  std::vector<Collective> collectives;
  std::optional<PipelineInfo> pipeline;
  std::string report; ///< JSON of the compiler, for people

  int64_t parameters() const;
  /// The weight with this path, or null.
  const WeightInfo *findWeight(const std::string &path) const;
  /// The paths of all weights, for "did you mean".
  std::vector<std::string> weightNames() const;
};

/// Checks magic and version, then reads and checks the metadata.
Expected<ProgramInfo> readProgram(const ptlrt_program_t &program);

/// The programs of all ranks: one, or one for each rank along the axis of a pipeline.
class ProgramSet {
public:
  static Expected<ProgramSet> read(const ptlrt_program_t &program);

  /// What the ranks do together: all weights and fields, the largest arena. Layouts are those of
  /// the first rank that has one.
  const ProgramInfo &whole() const { return all; }
  ProgramInfo &whole() { return all; }
  const ProgramInfo &of(int rank) const { return parts[partOf(rank)]; }
  size_t partOf(int rank) const {
    return axis < 0 ? 0 : static_cast<size_t>(all.mesh.coordinate(rank, axis));
  }
  size_t count() const { return parts.size(); }
  /// How many collectives at the beginning of every program's list are over the pipeline's axis.
  size_t sharedCollectives() const;
  const ProgramInfo &part(size_t number) const { return parts[number]; }
  /// Applies what the command line changes to every program.
  template <typename Change> Status change(Change &&change) {
    for (ProgramInfo &part : parts)
      PTLRT_TRY(change(part));
    return change(all);
  }

private:
  void join();
  Status checkShared() const;

  std::vector<ProgramInfo> parts;
  ProgramInfo all;
  int axis = -1; ///< of the pipeline
};

} // namespace ptlrt

#endif // PTLRT_EXEC_PROGRAMINFO_H
