//===- PlaceAxes.cpp - A plan's axes on the links of its cluster ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a program communicates hardly depends on the order of its axes, so it is compiled once, for
// links that are all alike, and all orders are compared for that traffic.
//===----------------------------------------------------------------------===//
#include "compiler/Driver/PlaceAxes.h"

#include "compiler/Driver/Messages.h"
#include "compiler/Driver/ProgramProfile.h"
#include "compiler/Import/Import.h"
#include "compiler/Import/ProgramAttributes.h"
#include "compiler/Pipelines/Pipeline.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace ptlc;

static constexpr double kWorse = 1.1; ///< above which `place` gets a warning
static constexpr size_t kPrinted = 6; ///< orders

/// The cluster of a plan, if it says how many devices a node has and how fast links are.
static const sema::ClusterSpec *linksOf(const sema::Program &program, const sema::PlanSpec &plan) {
  if (!plan.cluster)
    return nullptr;
  const sema::ClusterSpec &cluster = program.clusters[*plan.cluster];
  return cluster.devices && cluster.intra && cluster.inter ? &cluster : nullptr;
}

void ptlc::warnOfWideAxes(const sema::Program &program, const sema::PlanSpec &plan,
                          lang::DiagnosticEngine &diagnostics) {
  const sema::ClusterSpec *cluster = linksOf(program, plan);
  if (!cluster || *cluster->intra <= *cluster->inter)
    return;
  for (const sema::ShardRule &rule : plan.shards)
    for (unsigned axis : rule.axes.axes)
      if (rule.dim != "batch" && static_cast<double>(plan.mesh[axis].size) > *cluster->devices)
        diagnostics.warning(rule.axes.range,
                            llvm::formatv("'{0}' has {1} ranks and a node {2} devices: what '{3}' "
                                          "communicates over it crosses nodes, where a byte costs "
                                          "{4:f1} times as much",
                                          plan.mesh[axis].name, plan.mesh[axis].size,
                                          static_cast<int64_t>(*cluster->devices), rule.dim,
                                          *cluster->intra / *cluster->inter)
                                .str());
}

std::optional<AxisPlacement> AxisPlacement::of(const sema::Program &program,
                                               const sema::PlanSpec &plan) {
  const sema::ClusterSpec *cluster = linksOf(program, plan);
  if (!cluster || static_cast<double>(plan.ranks()) <= *cluster->devices)
    return std::nullopt;
  AxisPlacement placement;
  for (auto [place, axis] : llvm::enumerate(plan.mesh)) {
    if (axis.size < 2)
      continue;
    placement.names.push_back(axis.name);
    placement.sizes.push_back(axis.size);
    placement.places.push_back(static_cast<unsigned>(place));
  }
  if (placement.names.size() < 2)
    return std::nullopt;
  for (unsigned axis : plan.place)
    if (auto found = llvm::find(placement.places, axis); found != placement.places.end())
      placement.given.push_back(static_cast<unsigned>(found - placement.places.begin()));
  placement.chosen = placement.given;
  for (unsigned axis = 0; axis < placement.names.size(); ++axis)
    if (!llvm::is_contained(placement.given, axis))
      placement.chosen.push_back(axis);
  placement.machine = machineOf(*cluster);
  placement.range = plan.placeRange;
  return placement;
}

/// What `plan` makes ranks communicate where all links are alike.
static std::optional<std::vector<Collective>>
trafficOf(Frontend &frontend, const sema::Program &program, sema::PlanSpec plan) {
  mlir::DialectRegistry registry;
  registerEverything(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  // What is wrong with the program is said when it is compiled in earnest.
  mlir::ScopedDiagnosticHandler silence(&context,
                                        [](mlir::Diagnostic &) { return mlir::success(); });
  plan.cluster.reset();
  plan.promises.clear();
  size_t before = frontend.diagnostics.size();
  mlir::OwningOpRef<mlir::ModuleOp> module = importProgram(
      context, program, nullptr, plan, frontend.sources, frontend.diagnostics, ImportStage::Flat);
  frontend.diagnostics.truncate(before);
  mlir::PassManager manager(&context, mlir::ModuleOp::getOperationName());
  for (const PassRow &row : pipelineTable())
    if (row.phase <= Phase::Memory && !row.pass.contains("verify") &&
        failed(mlir::parsePassPipeline(row.pass, manager, llvm::errs())))
      return std::nullopt;
  if (!module || failed(manager.run(*module)))
    return std::nullopt;
  return collectivesOf(*module);
}

void AxisPlacement::choose(Frontend &frontend, const sema::Program &program, sema::PlanSpec &plan) {
  if (given.size() == names.size())
    return;
  std::optional<std::vector<Collective>> traffic = trafficOf(frontend, program, plan);
  if (!traffic)
    return;
  for (const cost::AxisOrder &order : rank(*traffic)) {
    if (!std::equal(given.begin(), given.end(), order.axes.begin()))
      continue;
    chosen = order.axes;
    break;
  }
  plan.place.clear();
  for (unsigned axis : chosen)
    plan.place.push_back(places[axis]);
}

static cost::TransferKind kindOf(llvm::StringRef name) {
  return llvm::StringSwitch<cost::TransferKind>(name)
      .Case("all_reduce", cost::TransferKind::AllReduce)
      .Case("all_gather", cost::TransferKind::AllGather)
      .Case("reduce_scatter", cost::TransferKind::ReduceScatter)
      .Case("all_to_all", cost::TransferKind::AllToAll)
      .Default(cost::TransferKind::Permute);
}

std::vector<cost::AxisOrder> AxisPlacement::rank(llvm::ArrayRef<Collective> collectives) const {
  std::vector<cost::GroupTraffic> traffic;
  for (const Collective &collective : collectives) {
    cost::GroupTraffic &each = traffic.emplace_back();
    each.kind = kindOf(collective.kind);
    each.bytes = collective.bytes;
    each.times = static_cast<double>(collective.times);
    for (const std::string &name : collective.axes)
      if (auto found = llvm::find(names, name); found != names.end())
        each.axes |= cost::AxisMask(1) << (found - names.begin());
  }
  return cost::rankOrders(cost::Times(machine, {}), sizes, {}, traffic);
}

std::string AxisPlacement::nameOf(const cost::AxisOrder &order) const {
  std::string text;
  for (unsigned axis : order.axes)
    text += (text.empty() ? "" : ", ") + names[axis];
  return text;
}

void AxisPlacement::print(llvm::ArrayRef<Collective> collectives, llvm::raw_ostream &os) const {
  std::vector<cost::AxisOrder> orders = rank(collectives);
  os << llvm::formatv("axes on links, the outermost first; nodes of {0} devices\n",
                      static_cast<int64_t>(machine.devices));
  os << llvm::formatv("  {0,-20} {1,12} {2,14} {3,14}\n", "order", "time", "inside nodes",
                      "between nodes");
  for (auto [number, order] : llvm::enumerate(orders))
    if (number < kPrinted || isChosen(order))
      os << llvm::formatv("{0} {1,-20} {2,9:f3} ms {3,14} {4,14}\n", isChosen(order) ? "*" : " ",
                          nameOf(order), order.seconds * 1e3, bytesText(order.inside),
                          bytesText(order.between));
  os << "bytes that a rank receives in a step; *: in use"
     << (given.empty() ? ", chosen\n" : ", as 'place' says\n");
}

void AxisPlacement::warn(llvm::ArrayRef<Collective> collectives, mlir::MLIRContext &context,
                         const lang::SourceManager &sources) const {
  if (given.empty())
    return;
  std::vector<cost::AxisOrder> orders = rank(collectives);
  auto used = llvm::find_if(orders, [&](const cost::AxisOrder &order) { return isChosen(order); });
  if (used == orders.end() || used->seconds <= kWorse * orders.front().seconds)
    return;
  mlir::emitWarning(placeAt(&context, import::placeOf(range, sources)))
      << llvm::formatv("communication takes {0:f1} times as long as with 'place {1}': {2} of a "
                       "rank's {3} a step cross nodes, there {4}",
                       used->seconds / orders.front().seconds, nameOf(orders.front()),
                       bytesText(used->between), bytesText(used->between + used->inside),
                       bytesText(orders.front().between))
             .str();
}
