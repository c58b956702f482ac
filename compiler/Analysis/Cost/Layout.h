//===- Layout.h - How a step is spread over a machine -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// What a plan decides beyond the program that a profile was taken of: data ranks,
// pipeline stages, where states are stored, what is computed again, and in which
// order the axes lie on the machine.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_ANALYSIS_COST_LAYOUT_H
#define PTLC_COMPILER_ANALYSIS_COST_LAYOUT_H

#include "compiler/Analysis/Cost/Machine.h"
#include "compiler/Analysis/Cost/Profile.h"

namespace ptlc::cost {

enum class Schedule : uint8_t { GPipe, OneFOneB, Interleaved, ZbH1, ZbV };

/// Bytes per trained parameter.
struct StateBytes {
  double weight = 4, gradient = 4;
  double master = 0;   ///< a second, wider copy of the weight
  double perState = 4; ///< of each state of the optimizer
};

struct Layout {
  static constexpr int kData = -1, kStages = -2; ///< all data ranks; pipeline stages

  double dataRanks = 1;
  int zero = 0;
  double shardRanks = 1; ///< that share a copy of what `zero` spreads; of dataRanks
  Remat remat = Remat::None;
  double rematShare = 1; ///< of the parts of stacks that `remat full` holds for
  unsigned stages = 1, chunks = 1;
  Schedule schedule = Schedule::OneFOneB;
  double microbatches = 1;
  double stagesPerRank() const {
    return schedule == Schedule::ZbV ? 2 : schedule == Schedule::Interleaved ? chunks : 1;
  }
  /// Whether gradients of each micro-batch are summed over ranks and kept in parts; in a pipeline
  /// they are summed once per step, behind the last micro-batch.
  bool scattersEach() const {
    return stages <= 1 && (zero >= 3 || (zero == 2 && microbatches > 1));
  }
  bool splitsBackward() const {
    return stages > 1 && (schedule == Schedule::ZbH1 || schedule == Schedule::ZbV);
  }
  StateBytes bytes;

  /// Axes from the innermost outwards: places in Profile::axes, kData, kStages. Empty: axes of the
  /// profile that don't divide the batch, then data, then stages.
  std::vector<int> order;

  // How the program communicates.
  bool sequenceCut = false;      ///< what goes from stage to stage is cut over the tensor ranks
  bool overlapTensor = false;    ///< collectives of the backward beside weight gradients
  bool overlapData = false;      ///< gradients and weights travel beside the computation
  bool scatterGather = false;    ///< each tensor rank sends its part to the next stage
  bool blockingSends = false;    ///< a rank waits for its transfers between stages
  bool fusedAccumulation = true; ///< weight gradients are added to where they are kept
  bool lossInPieces = true;      ///< logits exist for some rows at a time
};

/// The units of each stage, a repeated one several times: equally many parts each, the first stages
/// one more if they don't divide. What stands before and behind the stacks goes to the first and
/// the last stage.
std::vector<std::vector<unsigned>> stagesOf(const Profile &profile, unsigned stages);

/// The units of each rank along the pipeline, `chunks` consecutive stages' worth: with ZB-V those
/// of a stage and of its mirror image.
std::vector<std::vector<unsigned>> ranksOf(const Profile &profile, const Layout &layout);

/// A rank's weights in a stage.
Elements elementsOf(const Profile &profile, const std::vector<unsigned> &stage);

/// Micro-batches of a whole stage whose activations `rank` holds at its peak.
double inFlight(Schedule schedule, double stages, double microbatches, double chunks, double rank);

/// Micro-batches of a whole stage for which `rank` keeps at its peak what the gradients of weights
/// read of a backward that is split; 0 if it isn't.
double inWaiting(const Layout &layout, double rank);

/// Bytes of a value of the loss that exist at once: pieces of at most 64 MiB on all ranks.
double lossPiece(const Profile &profile, const Layout &layout, double bytes);

/// One rank of a stage at its peak.
struct StageMemory {
  unsigned stage = 0;
  double weights = 0, gradients = 0, optimizer = 0;
  double activations = 0; ///< kept for the backward, of all micro-batches in flight, or by it
  double work = 0;        ///< of the operation that needs most, and what is computed again
  double gathered = 0;    ///< weights and gradients on their way under `zero`
  double state() const { return weights + gradients + optimizer; }
  double total() const { return state() + activations + work + gathered; }
};

/// The memory of each stage, ranks of one being alike.
std::vector<StageMemory> memoryOf(const Profile &profile, const Layout &layout);
/// The stage that needs most.
StageMemory peakOf(const Profile &profile, const Layout &layout);

} // namespace ptlc::cost

#endif // PTLC_COMPILER_ANALYSIS_COST_LAYOUT_H
