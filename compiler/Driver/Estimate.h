//===- Estimate.h - ptlc estimate: what a plan would need -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_ESTIMATE_H
#define PTLC_COMPILER_DRIVER_ESTIMATE_H

#include "compiler/Driver/Options.h"

namespace ptlc {

/// What `ptlc estimate` is asked beyond a compilation. Empty texts: as the plan says.
struct EstimateOptions {
  std::string bytesPerParameter; ///< "16", "18", "20", or "2,4,12"
  std::string zero;              ///< "3", or "3:dp"
  std::string remat;             ///< "none", "attention", "selective", "full"
  std::string precision;         ///< "f32" or "bf16"
  std::string cluster;           ///< predict the time on it
  /// "ptlc" or "megatron": how kernels are fused, and what runs beside what.
  std::string like = "ptlc";
  bool values = false; ///< list what is kept for the backward, value by value
};

/// Runs `ptlc estimate`: prints the memory of a rank under a plan, for a mesh of any size, without
/// making a program. Returns an exit status.
int runEstimate(const CompileOptions &options, const EstimateOptions &estimate);

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_ESTIMATE_H
