//===- SimulateProgram.cpp - The pipeline of a compiled plan --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The table is the one that the program would run. Which parts are in which stage
// is read from its forwards; the model of step times says how long those take.
//===----------------------------------------------------------------------===//
#include "compiler/Driver/SimulateProgram.h"

#include "compiler/Codegen/Places.h"
#include "compiler/Driver/Messages.h"
#include "compiler/Driver/PlaceAxes.h"
#include "compiler/Driver/PlayPlans.h"
#include "compiler/Driver/ProgramProfile.h"
#include "compiler/Driver/StageCosts.h"
#include "compiler/Import/Import.h"
#include "compiler/Pipelines/Pipeline.h"
#include "compiler/Support/Location.h"
#include "compiler/Support/Stages.h"
#include "dialects/Ptl/Ptl.h"
#include "dialects/Rt/Rt.h"

using namespace ptlc;
using namespace mlir;

/// How many operations of each part each stage's forward has.
using Votes = llvm::StringMap<std::vector<unsigned>>;

static void count(ModuleOp program, size_t stages, const cost::Profile &profile, Votes &votes) {
  program.walk([&](ptl::AccumulateOp loop) {
    auto phase = loop->getAttrOfType<rt::PhaseAttr>("rt.phase");
    if (!phase || phase.getKind() != rt::PhaseKind::Forward)
      return;
    loop->walk([&](Operation *op) {
      llvm::StringRef path = partOf(op->getLoc());
      for (const cost::Unit &unit : profile.units) {
        llvm::StringRef rest = path;
        if (!unit.isPart || !rest.consume_front(unit.name) || !(rest.empty() || rest[0] == '.'))
          continue;
        std::vector<unsigned> &counts = votes[unit.name];
        counts.resize(stages);
        ++counts[phase.getStage()];
      }
    });
  });
}

/// The units of each stage: a part where most of it is, what stands before all parts in the first
/// stage, what stands behind them in the last one.
static std::vector<std::vector<unsigned>> unitsOfStages(ModuleOp module, size_t stages,
                                                        const cost::Profile &profile) {
  Votes votes;
  for (ModuleOp program : rankPrograms(module))
    count(program, stages, profile, votes);
  std::vector<std::vector<unsigned>> result(stages);
  for (auto [number, unit] : llvm::enumerate(profile.units)) {
    size_t stage = number == 0 ? 0 : stages - 1;
    if (auto found = votes.find(unit.name); unit.isPart && found != votes.end())
      stage = llvm::max_element(found->second) - found->second.begin();
    result[stage].push_back(static_cast<unsigned>(number));
  }
  return result;
}

/// Fills in what the plan's cluster makes of the table.
static bool predict(Frontend &frontend, const sema::Program &program, const sema::PlanSpec &plan,
                    ModuleOp module, PlannedPipeline &pipeline) {
  const sema::ClusterSpec &cluster = program.clusters[*plan.cluster];
  pipeline.cluster = cluster.name;
  std::optional<bool> half = isHalf(plan, frontend.diagnostics);
  if (!half)
    return false;
  std::optional<cost::Profile> profile =
      ProgramProfiler().run(frontend, program, plan, *half, cost::Kernels::Fused);
  std::optional<cost::Layout> layout =
      profile ? layoutOf(program, plan, *profile, frontend.diagnostics) : std::nullopt;
  if (!layout)
    return false;
  cost::Times times(machineOf(cluster), cost::Constants());
  layout->order = bestOrder(plan, *profile, *layout, times);
  pipeline.predicted = predictedCosts(*profile, *layout, times, pipeline.table.ranks,
                                      unitsOfStages(module, pipeline.table.stages(), *profile));
  return true;
}

std::optional<PlannedPipeline>
ptlc::compilePipeline(Frontend &frontend, const sema::Program &program, sema::PlanSpec plan) {
  if (!sema::refuseUnsupported(plan, frontend.diagnostics) ||
      !sema::checkMicrobatches(program, plan, frontend.diagnostics) || !frontend.readSchedule(plan))
    return std::nullopt;
  if (std::optional<AxisPlacement> placement = AxisPlacement::of(program, plan))
    placement->choose(frontend, program, plan);
  DialectRegistry registry;
  registerEverything(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module =
      importProgram(context, program, nullptr, plan, frontend.sources, frontend.diagnostics);
  if (!module)
    return std::nullopt;
  MessageHandler messages(context, frontend.sources, llvm::errs());
  if (failed(runPipeline(*module, Phase::Memory, [](PassManager &) {}, llvm::errs())))
    return std::nullopt;
  std::optional<schedule::Table> table = tableOf(*module);
  if (!table)
    return std::nullopt;
  PlannedPipeline pipeline{std::move(*table), {}, "", {}};
  for (ModuleOp rank : rankPrograms(*module))
    pipeline.arenaBytes.push_back(static_cast<double>(codegen::Arena(rank).total()));
  if (plan.cluster && !predict(frontend, program, plan, *module, pipeline))
    return std::nullopt;
  return pipeline;
}
