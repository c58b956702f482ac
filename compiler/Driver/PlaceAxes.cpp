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
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"

#include <set>

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
  if (!cluster || plan.ranks() < 2)
    return std::nullopt;
  AxisPlacement placement;
  for (auto [place, axis] : llvm::enumerate(plan.mesh)) {
    if (axis.size < 2)
      continue;
    placement.names.push_back(axis.name);
    placement.sizes.push_back(axis.size);
    placement.places.push_back(static_cast<unsigned>(place));
  }
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
static std::optional<Traffic> evenTraffic(Frontend &frontend, const sema::Program &program,
                                          sema::PlanSpec plan) {
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
  if (!module ||
      failed(runPipeline(*module, Phase::Memory, [](mlir::PassManager &) {}, llvm::nulls())))
    return std::nullopt;
  return trafficOf(*module);
}

bool AxisPlacement::isOneNode() const {
  return static_cast<double>(llvm::product_of(sizes)) <= machine.devices;
}

void AxisPlacement::choose(Frontend &frontend, const sema::Program &program, sema::PlanSpec &plan) {
  if (names.size() < 2 || given.size() == names.size() || isOneNode())
    return;
  std::optional<Traffic> traffic = evenTraffic(frontend, program, plan);
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

/// Of a message, `stage` is its target.
cost::GroupTraffic AxisPlacement::groupTraffic(const Collective &collective, int64_t stage) const {
  cost::GroupTraffic traffic{kindOf(collective.kind), 0, collective.bytes,
                             static_cast<double>(collective.times)};
  for (const std::string &name : collective.axes)
    if (auto found = llvm::find(names, name); found != names.end())
      traffic.axes |= cost::AxisMask(1) << (found - names.begin());
  if (collective.peer >= 0) {
    traffic.from = collective.peer;
    traffic.to = stage;
  }
  return traffic;
}

std::vector<cost::AxisOrder> AxisPlacement::rank(const Traffic &traffic) const {
  std::vector<std::vector<cost::GroupTraffic>> programs;
  for (auto [stage, list] : llvm::enumerate(traffic))
    for (programs.emplace_back(); const Collective &collective : list)
      programs.back().push_back(groupTraffic(collective, static_cast<int64_t>(stage)));
  return cost::rankOrders(cost::Times(machine, {}), sizes, {}, programs);
}

std::string AxisPlacement::nameOf(const cost::AxisOrder &order) const {
  std::string text;
  for (unsigned axis : order.axes)
    text += (text.empty() ? "" : ", ") + names[axis];
  return text;
}

/// Of the edges between stages, how many have ends on different nodes.
void AxisPlacement::printEdges(const Traffic &traffic, llvm::raw_ostream &os) const {
  std::set<int> all, crossing;
  for (auto [stage, list] : llvm::enumerate(traffic))
    for (const Collective &message : list) {
      if (message.edge < 0)
        continue;
      all.insert(message.edge);
      cost::GroupTraffic ends = groupTraffic(message, static_cast<int64_t>(stage));
      auto axis = static_cast<unsigned>(llvm::countr_zero(ends.axes));
      if (cost::shareBetween(machine, sizes, chosen, axis, ends.from, ends.to) > 0)
        crossing.insert(message.edge);
    }
  if (!all.empty())
    os << llvm::formatv("{0} of {1} edges between stages cross{2} nodes\n", crossing.size(),
                        all.size(), crossing.size() == 1 ? "es" : "");
}

void AxisPlacement::print(const Traffic &traffic, llvm::raw_ostream &os) const {
  std::vector<cost::AxisOrder> orders = rank(traffic);
  os << llvm::formatv("axes on links, the outermost first; nodes of {0} devices\n",
                      static_cast<int64_t>(machine.devices));
  os << llvm::formatv("  {0,-20} {1,12} {2,14} {3,14}\n", "order", "time", "inside nodes",
                      "between nodes");
  for (auto [number, order] : llvm::enumerate(orders))
    if (number < kPrinted || isChosen(order))
      os << llvm::formatv("{0} {1,-20} {2,9:f3} ms {3,14} {4,14}\n", isChosen(order) ? "*" : " ",
                          nameOf(order), order.seconds * 1e3, bytesText(order.inside),
                          bytesText(order.between));
  os << "bytes that all ranks receive in a step; *: in use"
     << (given.empty() ? ", chosen\n" : ", as 'place' says\n");
  printEdges(traffic, os);
}

llvm::json::Object AxisPlacement::describe(const Traffic &traffic) const {
  auto describeOrder = [&](const cost::AxisOrder &order) {
    return llvm::json::Object{{"order", nameOf(order)},
                              {"seconds", order.seconds},
                              {"inside", order.inside},
                              {"between", order.between}};
  };
  std::vector<cost::AxisOrder> orders = rank(traffic);
  llvm::json::Object object;
  for (const cost::AxisOrder &order : orders)
    if (isChosen(order))
      object = describeOrder(order);
  object["best"] = describeOrder(orders.front());
  return object;
}

void AxisPlacement::warn(const Traffic &traffic, mlir::MLIRContext &context,
                         const lang::SourceManager &sources) const {
  if (given.empty())
    return;
  std::vector<cost::AxisOrder> orders = rank(traffic);
  auto used = llvm::find_if(orders, [&](const cost::AxisOrder &order) { return isChosen(order); });
  if (used == orders.end() || used->seconds <= kWorse * orders.front().seconds)
    return;
  mlir::emitWarning(placeAt(&context, import::placeOf(range, sources)))
      << llvm::formatv("communication takes {0:f1} times as long as with 'place {1}': {2} of the "
                       "{3} of a step cross nodes, there {4}",
                       used->seconds / orders.front().seconds, nameOf(orders.front()),
                       bytesText(used->between), bytesText(used->between + used->inside),
                       bytesText(orders.front().between))
             .str();
}
