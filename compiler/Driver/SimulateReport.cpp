//===- SimulateReport.cpp - What a simulation found -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Driver/SimulateReport.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <numeric>

using namespace ptlc;
using namespace ptlc::schedule;

static double busyOfAll(const Simulation &result) {
  return std::accumulate(result.busy.begin(), result.busy.end(), 0.0);
}

/// Idle share of all ranks' time.
static double idleOfTotal(const Simulation &result) {
  return 1 - busyOfAll(result) / (result.makespan * static_cast<double>(result.busy.size()));
}

static double idleOverIdeal(const Simulation &result) {
  return result.makespan * static_cast<double>(result.busy.size()) / busyOfAll(result) - 1;
}

static int slotsOf(const Table &table, size_t rank, SlotKind kind) {
  return table.tables[rank].slots[static_cast<size_t>(kind)];
}

static constexpr SlotKind kKinds[] = {SlotKind::X, SlotKind::S, SlotKind::Y,
                                      SlotKind::G, SlotKind::D, SlotKind::C};

static bool knowsBytes(const SimulationReport &report) {
  return report.arenaBytes || !report.costs.slotBytes.empty();
}

/// What a rank of the program needs, or its slots: as many as there are of each kind, of its
/// largest stage.
static double bytesOf(const SimulationReport &report, size_t rank) {
  if (report.arenaBytes)
    return (*report.arenaBytes)[rank];
  double bytes = 0;
  for (SlotKind kind : kKinds) {
    auto found = report.costs.slotBytes.find(name(kind));
    if (found == report.costs.slotBytes.end())
      continue;
    double largest = 0;
    for (int stage = 0; stage < report.table.stages(); ++stage)
      if (report.table.place[stage] == static_cast<int>(rank))
        largest = std::max(largest, found->second[found->second.size() == 1 ? 0 : stage]);
    bytes += slotsOf(report.table, rank, kind) * largest;
  }
  return bytes;
}

void ptlc::printSimulation(const SimulationReport &report, llvm::raw_ostream &os) {
  const schedule::Table &table = report.table;
  const Simulation &result = report.result;
  os << "schedule " << table.name << ": " << table.ranks << " ranks, " << table.chunks
     << (table.chunks == 1 ? " stage" : " stages") << " each, " << table.micros
     << " micro-batches\ncosts: " << report.costs.source << "\n";
  os << llvm::format("time of a step        %10.6g s\n", result.makespan);
  os << llvm::format("  without a barrier   %10.6g s   longest span of a rank\n", result.period());
  os << llvm::format("idle, of total time   %9.2f %%   1 - busy / time\n",
                     100 * idleOfTotal(result));
  os << llvm::format("idle, over ideal time %9.2f %%   time / busy - 1\n",
                     100 * idleOverIdeal(result));
  if (report.measured)
    os << llvm::format("measured              %10.6g s, idle %.2f %% of total time, %.2f %% over "
                       "ideal time\n",
                       report.measured->seconds, 100 * (1 - report.measured->busy),
                       100 * (1 / report.measured->busy - 1));
  os << "\nrank      busy s    idle %  over ideal %     X    S    Y    G    D    C"
     << (knowsBytes(report) ? "         bytes\n" : "\n");
  for (size_t rank = 0; rank < result.busy.size(); ++rank) {
    os << llvm::format("%4zu  %10.6g  %8.2f      %8.2f", rank, result.busy[rank],
                       100 * result.idleOfTotal(rank), 100 * result.idleOverIdeal(rank));
    for (SlotKind kind : kKinds)
      os << llvm::format(kind == SlotKind::X ? " %5d" : "%5d", slotsOf(table, rank, kind));
    if (knowsBytes(report))
      os << llvm::format("%14.0f", bytesOf(report, rank));
    os << "\n";
  }
  os << "\nSlots: X inputs, S kept for the backward (micro-batches in flight), Y outputs to send, "
        "G and D\ngradients of outputs and inputs, C kept for the weights' gradient.\n";
}

void ptlc::printSimulationJson(const SimulationReport &report, llvm::raw_ostream &os) {
  const schedule::Table &table = report.table;
  const Simulation &result = report.result;
  llvm::json::Array ranks;
  for (size_t rank = 0; rank < result.busy.size(); ++rank) {
    llvm::json::Object slots;
    for (SlotKind kind : kKinds)
      slots[std::string(1, name(kind))] = slotsOf(table, rank, kind);
    llvm::json::Object entry{{"busy", result.busy[rank]},
                             {"idle_of_total", result.idleOfTotal(rank)},
                             {"idle_over_ideal", result.idleOverIdeal(rank)},
                             {"slots", std::move(slots)}};
    if (knowsBytes(report))
      entry["bytes"] = bytesOf(report, rank);
    ranks.push_back(std::move(entry));
  }
  llvm::json::Object object{{"schedule", table.name},
                            {"ranks", table.ranks},
                            {"chunks", table.chunks},
                            {"micros", table.micros},
                            {"seconds", result.makespan},
                            {"period", result.period()},
                            {"idle_of_total", idleOfTotal(result)},
                            {"idle_over_ideal", idleOverIdeal(result)},
                            {"costs", report.costs.source},
                            {"per_rank", std::move(ranks)}};
  if (report.measured)
    object["measured"] = llvm::json::Object{{"seconds", report.measured->seconds},
                                            {"idle_of_total", 1 - report.measured->busy},
                                            {"idle_over_ideal", 1 / report.measured->busy - 1}};
  os << llvm::formatv("{0:2}", llvm::json::Value(std::move(object))) << "\n";
}
