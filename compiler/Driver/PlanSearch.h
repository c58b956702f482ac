//===- PlanSearch.h - ptlc plan: the fastest plan for a cluster -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_PLANSEARCH_H
#define PTLC_COMPILER_DRIVER_PLANSEARCH_H

#include "compiler/Analysis/Cost/Planner.h"
#include "compiler/Driver/ProgramProfile.h"
#include "compiler/Driver/TensorCuts.h"

#include <map>

namespace ptlc {

/// Profiles of a program for the planner. All parts of a stack being alike, it compiles three of
/// each stack whose number is a `const` of the file, and counts the second one as often as needed;
/// where that isn't the same program but for the number, it compiles all.
class PlannedProgram : public cost::ProfileSource {
public:
  /// `program` is that of `options`, whole.
  PlannedProgram(const CompileOptions &options, const sema::Program &program, bool half);

  const cost::Profile *profile(unsigned tensor, bool sequence, unsigned samples) override;
  const TensorCuts &cuts() const { return tensorCuts; }
  /// How many profiles were compiled, and of how many parts each.
  size_t compiled() const { return profiles.size(); }

private:
  struct Key {
    unsigned tensor;
    bool sequence;
    unsigned samples;
    auto operator<=>(const Key &) const = default;
  };
  std::vector<sema::Define> shortDefines() const;
  bool isSameButShorter(const sema::Program &shorter);
  sema::PlanSpec planFor(const sema::Program &analyzed, unsigned tensor, bool sequence) const;
  std::optional<cost::Profile> compile(unsigned tensor, bool sequence, unsigned samples);
  void repeatParts(cost::Profile &profile) const;

  const CompileOptions &options;
  const sema::Program &program;
  bool half; ///< values have two bytes
  TensorCuts tensorCuts;
  std::vector<sema::Define> shorter; ///< definitions that make stacks of three parts
  ProgramProfiler profiler;
  std::map<Key, std::optional<cost::Profile>> profiles;
};

/// What `ptlc plan` is asked.
struct PlanOptions {
  std::string cluster;
  unsigned devices = 0; ///< 0: all of the cluster
  unsigned shown = 10;
  std::string precision; ///< "f32" or "bf16"; empty: that of the file's plans for the cluster
};

/// Runs `ptlc plan`: prints the best plans for the cluster, why, and the chosen one as .ptl.
/// Returns an exit status.
int runPlan(const CompileOptions &options, const PlanOptions &plan);

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_PLANSEARCH_H
