//===- Planner.h - Search for the fastest plan ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Every combination of tensor ranks, pipeline stages, data ranks, `zero`,
// recomputation, micro-batch, schedule and order of axes that fits into memory is
// timed. What can't fit cuts off what needs more: states that don't fit leave out
// all micro-batches, a micro-batch that fits in no schedule leaves out larger ones.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_ANALYSIS_COST_PLANNER_H
#define PTLC_COMPILER_ANALYSIS_COST_PLANNER_H

#include "compiler/Analysis/Cost/StepTime.h"

namespace ptlc::cost {

/// Profiles of a program cut over tensor ranks.
class ProfileSource {
public:
  virtual ~ProfileSource() = default;
  /// The profile of a rank that computes `samples` samples at a time, its tensors cut over `tensor`
  /// ranks, what lies between parts of stacks, too, if `sequence`. Null if that can't be compiled.
  virtual const Profile *profile(unsigned tensor, bool sequence, unsigned samples) = 0;
};

/// What the planner may use.
struct PlanSpace {
  std::vector<unsigned> tensor; ///< degrees, ascending
  bool canCutSequence = false;
  unsigned parts = 1; ///< of the stack that stages are made of; 1: no pipeline
  double batch = 1;   ///< samples of a step
  unsigned mostSamples = 32, mostChunks = 8;
  double uneven = 0.15;        ///< share of places for parts in stages that may stay empty
  double reserve = 2.5e9;      ///< memory that a device's libraries take
  double fragmentation = 0.05; ///< of memory other than states and reserve
  double tolerance = 0.01;     ///< plans this close to the fastest count as equally fast
  StateBytes bytes = {2, 4, 4, 4};
};

struct Candidate {
  unsigned tensor = 1, samples = 1;
  bool sequence = false;
  Layout layout;
  StepTime time;
  StageMemory memory;
  double bytes = 0;      ///< of the memory's total, with reserve and fragmentation
  bool isPlayed = false; ///< the pipeline's time isn't that of a closed form

  /// "tp+pp+z1": the mechanisms that it uses.
  std::string kind() const;
  /// Mechanisms, weighed: simple plans come first.
  double complexity() const;
  /// "interleaved(2)", as plans write it.
  std::string schedule() const;
};

struct Search {
  std::vector<Candidate> fits; ///< fastest first
  size_t chosen = 0;           ///< the simplest of those that are equally fast
  size_t timed = 0, tooLarge = 0;
};

/// Searches on all ranks of `times.machine`.
Search searchPlans(ProfileSource &source, const PlanSpace &space, const Times &times);

/// Returns the simplest of the first `count` of `fits`, which are sorted, that count as equally
/// fast as the first.
size_t simplestOf(const std::vector<Candidate> &fits, size_t count, double tolerance);

} // namespace ptlc::cost

#endif // PTLC_COMPILER_ANALYSIS_COST_PLANNER_H
