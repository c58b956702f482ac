//===- Report.h - What a compiled program will use --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_REPORT_H
#define PTLC_COMPILER_DRIVER_REPORT_H

#include "compiler/Driver/Savings.h"

namespace ptlc {

/// A collective, or a message from another stage.
struct Collective {
  std::string kind; ///< "all_reduce"
  std::vector<std::string> axes;
  double bytes = 0;  ///< that a rank receives, each time
  int64_t times = 1; ///< a step; 0: of evaluation or sampling
  std::string line, reason;
  std::string insteadOf;           ///< what was weighed, too, and would have been dearer
  std::vector<Collective> members; ///< what was merged into it
  int edge = -1;                   ///< of a message between stages,
  bool isGradient = false;         ///< against the edge
  int peer = -1;                   ///< of a message: where on the axis it comes from, if known

  double stepBytes() const { return bytes * static_cast<double>(times); }
  std::string axesText() const; ///< "dp, tp"
};

/// Returns the FLOPs of one execution of `region`; bodies of micro-batches count for each piece.
int64_t flopsOf(mlir::Region &region);

/// Returns the collectives of a step in program order, then the messages that a rank of a pipeline
/// receives. `module` is at stage `memory`, and the program of one rank.
std::vector<Collective> collectivesOf(mlir::ModuleOp module);

/// Returns the same for each rank of a pipeline, with the peers of messages; without a pipeline one
/// list, for all ranks. `module` is the whole.
std::vector<std::vector<Collective>> trafficOf(mlir::ModuleOp module);

/// Returns the bytes of a rank's arena at its peak. `module` is at stage `memory`.
double arenaBytesOf(mlir::ModuleOp module);

/// Prints how large buckets of weights in parts are, and why; nothing without `zero`. `module` is
/// at stage `zero` or later.
void printBuckets(mlir::ModuleOp module, llvm::raw_ostream &os);

/// Writes 1234567 bytes as "1.23 MB".
std::string bytesText(double bytes);

/// Prints per rank: parameters, bytes of weights, gradients, optimizer state and activations, the
/// arena's peak and what would lower it, FLOPs of a step, and each collective with its line, cause,
/// axes and bytes. `links`: bytes per class of link, if a cluster is known (PlaceAxes.h). `module`
/// is at stage `memory`; at an earlier stage what isn't known yet is left out.
void printReport(mlir::ModuleOp module, llvm::ArrayRef<Saving> savings, llvm::json::Object links,
                 bool json, llvm::raw_ostream &os);

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_REPORT_H
