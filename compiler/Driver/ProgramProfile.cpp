//===- ProgramProfile.cpp - From a file and a plan to a profile -----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Driver/ProgramProfile.h"

#include "compiler/Driver/Messages.h"
#include "compiler/Import/Import.h"
#include "compiler/Pipelines/Pipeline.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <limits>
#include <numeric>

using namespace ptlc;
using namespace mlir;

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registerEverything(registry);
  return registry;
}

ProgramProfiler::ProgramProfiler() : context(makeRegistry()) { context.loadAllAvailableDialects(); }

sema::PlanSpec ptlc::shardsOf(const sema::PlanSpec &plan) {
  sema::PlanSpec shards = plan;
  if (shards.pipeline)
    for (unsigned axis : shards.pipeline->over.axes)
      shards.mesh[axis].size = 1;
  shards.pipeline.reset();
  shards.zeros.clear();
  shards.precisions.clear();
  shards.remats.clear();
  shards.promises.clear();
  shards.overlap.reset();
  return shards;
}

/// Adds the passes up to `spmd`, without those that only verify.
static LogicalResult buildPasses(OpPassManager &manager) {
  for (const PassRow &row : pipelineTable())
    if (row.phase <= Phase::Spmd && !row.pass.starts_with("shard-verify") &&
        failed(parsePassPipeline(row.pass, manager, llvm::errs())))
      return failure();
  return success();
}

std::optional<cost::Profile> ProgramProfiler::run(Frontend &frontend, const sema::Program &program,
                                                  const sema::PlanSpec &plan, bool half,
                                                  cost::Kernels kernels) {
  OwningOpRef<ModuleOp> module =
      importProgram(context, program, nullptr, shardsOf(plan), frontend.sources,
                    frontend.diagnostics, ImportStage::Flat);
  if (!module)
    return std::nullopt;
  MessageHandler messages(context, frontend.sources, llvm::errs());
  PassManager manager(&context, ModuleOp::getOperationName());
  if (failed(buildPasses(manager)) || failed(manager.run(*module)))
    return std::nullopt;
  cost::ProfileOptions options;
  for (const sema::PartStack &stack : program.stacks)
    options.stacks.push_back(stack.path);
  options.half = half;
  options.kernels = kernels;
  return cost::profileOf(*module, options);
}

std::optional<bool> ptlc::isHalf(const sema::PlanSpec &plan, lang::DiagnosticEngine &diagnostics) {
  bool half = false;
  for (const sema::PrecisionRule &rule : plan.precisions) {
    if (!rule.in.empty()) {
      diagnostics.error(rule.range, "'precision' with 'in:' can't be estimated");
      return std::nullopt;
    }
    half |= rule.precision != sema::Precision::F32;
  }
  return half;
}

/// One level for all weights.
static bool readZero(const sema::PlanSpec &plan, const cost::Profile &profile,
                     lang::DiagnosticEngine &diagnostics, cost::Layout &layout) {
  for (const sema::ZeroRule &rule : plan.zeros) {
    if (!rule.in.empty() || plan.zeros.size() > 1) {
      diagnostics.error(rule.range, "only one 'zero', for all weights, can be estimated");
      return false;
    }
    layout.zero = rule.level;
    layout.shardRanks = 1;
    for (unsigned axis : rule.over.axes) {
      const sema::MeshAxis &spec = plan.mesh[axis];
      int place = profile.findAxis(spec.name);
      bool isData = place >= 0 && (profile.dataAxes >> place & 1);
      if (!isData && spec.size > 1) {
        diagnostics.error(rule.range, "'zero' spreads states over axes that divide the batch; '" +
                                          spec.name + "' doesn't");
        return false;
      }
      layout.shardRanks *= static_cast<double>(spec.size);
    }
  }
  return true;
}

static cost::Remat rematOf(sema::Remat remat) {
  switch (remat) {
  case sema::Remat::None:
  case sema::Remat::Auto: // see chooseRemat()
    return cost::Remat::None;
  case sema::Remat::Attention:
    return cost::Remat::Attention;
  case sema::Remat::Selective:
    return cost::Remat::Selective;
  case sema::Remat::Full:
    return cost::Remat::Full;
  }
  return cost::Remat::None;
}

/// One rule, for all parts of stacks or, of `full`, for some.
static bool readRemat(const sema::Program &program, const sema::PlanSpec &plan,
                      lang::DiagnosticEngine &diagnostics, cost::Layout &layout) {
  for (const sema::RematRule &rule : plan.remats) {
    bool isShare = !rule.in.empty();
    if (plan.remats.size() > 1 || (isShare && rule.remat != sema::Remat::Full)) {
      diagnostics.error(rule.range, "only one 'remat', 'in:' of some parts if it is 'full', can "
                                    "be estimated");
      return false;
    }
    layout.remat = rematOf(rule.remat);
    double parts = 0, covered = 0;
    for (const sema::PartStack &stack : program.stacks)
      for (sema::PartId part : stack.parts) {
        ++parts;
        covered += llvm::any_of(rule.in, [&](const sema::PathRef &path) {
          return llvm::is_contained(path.parts, part);
        });
      }
    if (isShare && parts > 0)
      layout.rematShare = covered / parts;
  }
  return true;
}

/// `remat auto`: the first of these that keeps the plan's `assert memory`.
static bool chooseRemat(const sema::PlanSpec &plan, const cost::Profile &profile,
                        lang::DiagnosticEngine &diagnostics, cost::Layout &layout) {
  if (plan.remats.empty() || plan.remats.front().remat != sema::Remat::Auto)
    return true;
  double most = std::numeric_limits<double>::infinity();
  for (const sema::Promise &promise : plan.promises)
    if (promise.what == sema::Promise::What::Memory)
      most = std::min(most, promise.value);
  for (cost::Remat remat : {cost::Remat::None, cost::Remat::Selective, cost::Remat::Full})
    for (double share : {0.25, 0.5, 0.75, 1.0}) {
      layout.remat = remat;
      layout.rematShare = share;
      if (peakOf(profile, layout).total() <= most)
        return true;
    }
  diagnostics.error(plan.remats.front().range,
                    "no recomputation keeps 'assert memory': with 'remat full' a rank needs " +
                        llvm::Twine(static_cast<int64_t>(peakOf(profile, layout).total())) +
                        " bytes");
  return false;
}

static void readPipeline(const sema::PlanSpec &plan, cost::Layout &layout) {
  if (!plan.pipeline)
    return;
  for (unsigned axis : plan.pipeline->over.axes)
    layout.stages *= static_cast<unsigned>(plan.mesh[axis].size);
  layout.chunks = static_cast<unsigned>(plan.pipeline->chunks);
  switch (plan.pipeline->schedule) {
  case sema::PipeSchedule::GPipe:
    layout.schedule = cost::Schedule::GPipe;
    break;
  case sema::PipeSchedule::Interleaved:
    layout.schedule = cost::Schedule::Interleaved;
    break;
  case sema::PipeSchedule::ZbH1:
    layout.schedule = cost::Schedule::ZbH1;
    break;
  case sema::PipeSchedule::ZbV:
    layout.schedule = cost::Schedule::ZbV;
    break;
  case sema::PipeSchedule::OneFOneB:
  case sema::PipeSchedule::File: // a table of one's own is taken for 1F1B
    layout.schedule = cost::Schedule::OneFOneB;
    break;
  }
}

std::optional<cost::Layout> ptlc::layoutOf(const sema::Program &program, const sema::PlanSpec &plan,
                                           const cost::Profile &profile,
                                           lang::DiagnosticEngine &diagnostics) {
  cost::Layout layout;
  layout.dataRanks = profile.sizeOf(profile.dataAxes);
  layout.shardRanks = layout.dataRanks;
  layout.microbatches = profile.microbatches;
  for (const sema::ShardRule &rule : plan.shards)
    layout.sequenceCut |= rule.between.has_value() && !plan.isVoid(rule.axes);
  if (!readZero(plan, profile, diagnostics, layout) ||
      !readRemat(program, plan, diagnostics, layout))
    return std::nullopt;
  readPipeline(plan, layout);
  layout.overlapData = layout.overlapTensor = plan.overlap.value_or(false);
  std::optional<bool> half = isHalf(plan, diagnostics);
  if (!half)
    return std::nullopt;
  if (*half)
    layout.bytes = {2, layout.microbatches > 1 ? 4.0 : 2.0, 4, 4};
  if (!chooseRemat(plan, profile, diagnostics, layout))
    return std::nullopt;
  return layout;
}

cost::Machine ptlc::machineOf(const sema::ClusterSpec &spec) {
  cost::Machine machine;
  double perByte = machine.peak / machine.bandwidth;
  machine.nodes = spec.nodes.value_or(1);
  machine.devices = spec.devices.value_or(1);
  machine.peak = spec.peak.value_or(machine.peak);
  machine.peakF32 = spec.peakF32.value_or(machine.peak);
  machine.bandwidth = spec.bandwidth.value_or(machine.peak / perByte);
  machine.units = spec.units.value_or(machine.units);
  machine.memory = spec.memory.value_or(machine.memory);
  machine.intra = spec.intra.value_or(machine.intra);
  machine.inter = spec.inter.value_or(machine.inter);
  machine.intraLatency = spec.intraLatency.value_or(machine.intraLatency);
  machine.interLatency = spec.interLatency.value_or(machine.interLatency);
  return machine;
}

/// What the axes of a plan are to the cost model: the data's axes are one, so are the stages'.
static std::vector<int> placedOrder(const sema::PlanSpec &plan, const cost::Profile &profile) {
  std::vector<int> order;
  for (unsigned axis : llvm::reverse(plan.place)) {
    int place = profile.findAxis(plan.mesh[axis].name), id = place;
    if (plan.pipeline && llvm::is_contained(plan.pipeline->over.axes, axis))
      id = cost::Layout::kStages;
    else if (place >= 0 && (profile.dataAxes >> place & 1))
      id = cost::Layout::kData;
    if (!llvm::is_contained(order, id))
      order.push_back(id);
  }
  return order;
}

std::vector<int> ptlc::bestOrder(const sema::PlanSpec &plan, const cost::Profile &profile,
                                 const cost::Layout &layout, const cost::Times &times) {
  std::vector<int> placed = placedOrder(plan, profile), order = placed;
  for (size_t axis = 0; axis < profile.axes.size(); ++axis)
    if (profile.axes[axis].size > 1 && !(profile.dataAxes >> axis & 1) &&
        !llvm::is_contained(order, static_cast<int>(axis)))
      order.push_back(static_cast<int>(axis));
  for (int axis : {cost::Layout::kData, cost::Layout::kStages})
    if (!llvm::is_contained(order, axis))
      order.push_back(axis);
  if (!placed.empty())
    return order;
  std::vector<int> best = order;
  double least = std::numeric_limits<double>::infinity();
  // Ties go to the first: axes of tensors inside, then data, then stages.
  std::vector<size_t> places(order.size());
  std::iota(places.begin(), places.end(), 0);
  do {
    cost::Layout candidate = layout;
    candidate.order.clear();
    for (size_t place : places)
      candidate.order.push_back(order[place]);
    double total = timeOf(profile, unitTimes(profile, candidate, times), candidate, times).total;
    if (total < least * (1 - 1e-9)) {
      least = total;
      best = candidate.order;
    }
  } while (std::next_permutation(places.begin(), places.end()));
  return best;
}
