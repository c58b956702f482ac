//===- EstimateReport.h - An estimate as text and JSON ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_ESTIMATEREPORT_H
#define PTLC_COMPILER_DRIVER_ESTIMATEREPORT_H

#include "compiler/Analysis/Cost/StepTime.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace ptlc {

struct EstimateReport {
  std::string model, source, mesh;
  cost::Profile profile;
  cost::Layout layout;
  bool values = false; ///< with what is kept, value by value
  std::string cluster; ///< empty: without times
  cost::Machine machine;
  cost::StepTime time;

  double ranks() const {
    return profile.sizeOf(~profile.dataAxes) * layout.dataRanks * layout.stages;
  }
};

/// {"model", "mesh", "parameters", "bytes_per_parameter", "stages": [{"stage", "weights",
/// "gradients", "optimizer", "activations", "work", "gathered", "total"}], "state_by_zero": [4
/// numbers], "units": [{"name", "parameters", "kept": {remat: bytes}, "values"}], "time":
/// {"seconds", "pipeline", "bubble", "data", "tie", "update", "tflops", "order", ..}}; bytes of a
/// rank.
llvm::json::Object estimateObject(const EstimateReport &report);

void printEstimate(const EstimateReport &report, llvm::raw_ostream &os);

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_ESTIMATEREPORT_H
