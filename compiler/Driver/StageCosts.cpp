//===- StageCosts.cpp - Table and costs of a compiled pipeline ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Driver/StageCosts.h"

#include "compiler/Driver/Report.h"
#include "compiler/Schedule/Packed.h"
#include "compiler/Support/Stages.h"
#include "dialects/Ptl/Ptl.h"
#include "dialects/Rt/Rt.h"

#include <numeric>

using namespace ptlc;
using namespace mlir;

/// The list of `costs` that a phase counts in.
static std::vector<double> &listOf(schedule::Costs &costs, rt::PhaseKind kind) {
  switch (kind) {
  case rt::PhaseKind::Forward:
    return costs.forward;
  case rt::PhaseKind::Backward:
    return costs.backward;
  case rt::PhaseKind::WeightGradient:
    return costs.weight;
  case rt::PhaseKind::WholeBackward:
    return costs.both;
  case rt::PhaseKind::Loss:
    break;
  }
  return costs.loss;
}

std::optional<schedule::Table> ptlc::tableOf(ModuleOp module) {
  auto packed = module->getAttrOfType<StringAttr>(kPackedTable);
  if (!packed)
    return std::nullopt;
  std::string error;
  llvm::StringRef bytes = packed.getValue();
  return schedule::unpack({bytes.data(), bytes.size()}, error);
}

std::optional<CompiledPipeline> ptlc::compiledPipelineOf(ModuleOp module) {
  std::optional<schedule::Table> table = tableOf(module);
  if (!table)
    return std::nullopt;
  CompiledPipeline pipeline{std::move(*table), {}};
  schedule::Costs &flops = pipeline.flops;
  for (auto *list : {&flops.forward, &flops.backward, &flops.weight, &flops.both, &flops.loss})
    list->assign(pipeline.table.stages(), 0);
  module.walk([&](ptl::AccumulateOp loop) {
    if (auto phase = loop->getAttrOfType<rt::PhaseAttr>("rt.phase"))
      listOf(flops, phase.getKind())[phase.getStage()] +=
          static_cast<double>(flopsOf(loop->getRegion(0)));
  });
  return pipeline;
}

double ptlc::bubbleOf(const CompiledPipeline &pipeline) {
  std::optional<schedule::Simulation> result = schedule::simulate(pipeline.table, pipeline.flops);
  if (!result || result->makespan == 0)
    return 0;
  double busy = std::accumulate(result->busy.begin(), result->busy.end(), 0.0);
  return 1 - busy / (result->makespan * static_cast<double>(result->busy.size()));
}
