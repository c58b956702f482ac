//===- EstimateReport.cpp - An estimate as text and JSON ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Driver/EstimateReport.h"

#include "compiler/Driver/Report.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace ptlc;
namespace json = llvm::json;

namespace {
struct RematName {
  cost::Remat remat;
  const char *name;
};
struct MemoryPart {
  const char *name;
  double cost::StageMemory::*bytes;
};
} // namespace

static constexpr RematName kRemats[] = {{cost::Remat::None, "none"},
                                        {cost::Remat::Attention, "attention"},
                                        {cost::Remat::Selective, "selective"},
                                        {cost::Remat::Full, "full"}};
static constexpr MemoryPart kParts[] = {
    {"weights", &cost::StageMemory::weights},     {"gradients", &cost::StageMemory::gradients},
    {"optimizer", &cost::StageMemory::optimizer}, {"activations", &cost::StageMemory::activations},
    {"work", &cost::StageMemory::work},           {"gathered", &cost::StageMemory::gathered}};

/// The bytes of training state of the largest stage at each level of `zero`.
static std::vector<double> statesByZero(const EstimateReport &report) {
  std::vector<double> result;
  cost::Layout layout = report.layout;
  for (layout.zero = 0; layout.zero <= 3; ++layout.zero) {
    double most = 0;
    for (const cost::StageMemory &stage : memoryOf(report.profile, layout))
      most = std::max(most, stage.state());
    result.push_back(most);
  }
  return result;
}

static json::Array valuesOf(const cost::Unit &unit) {
  json::Array values;
  for (const cost::Kept &value : unit.kept) {
    json::Object entry{{"name", value.name},
                       {"line", value.line},
                       {"dims", value.dims},
                       {"bytes", value.bytes},
                       {"core", value.core}};
    if (value.shardBytes > 0)
      entry["shard_bytes"] = value.shardBytes;
    if (value.isLoss)
      entry["loss"] = true;
    values.push_back(std::move(entry));
  }
  return values;
}

static json::Array unitsOf(const EstimateReport &report) {
  json::Array units;
  for (auto [number, unit] : llvm::enumerate(report.profile.units)) {
    json::Object kept;
    for (const RematName &remat : kRemats)
      kept[remat.name] = unit.keptBytes[unsigned(remat.remat)];
    json::Object entry{{"name", unit.name},
                       {"repeat", int64_t(unit.repeat)},
                       {"parameters", elementsOf(report.profile, {unsigned(number)}).all},
                       {"kept", std::move(kept)},
                       {"work", unit.workBytes},
                       {"loss", unit.lossBytes}};
    if (report.values)
      entry["values"] = valuesOf(unit);
    units.push_back(std::move(entry));
  }
  return units;
}

/// "tp, dp, stages": axes from the innermost outwards, without those of one rank.
static std::string orderText(const EstimateReport &report) {
  std::vector<std::string> names;
  for (int axis : report.layout.order) {
    if (axis == cost::Layout::kData && report.layout.dataRanks > 1)
      names.push_back("data");
    else if (axis == cost::Layout::kStages && report.layout.stages > 1)
      names.push_back("stages");
    else if (axis >= 0 && report.profile.axes[size_t(axis)].size > 1)
      names.push_back(report.profile.axes[size_t(axis)].name);
  }
  return llvm::join(names, ", ");
}

/// 10^12 FLOP/s of each device, with what is computed again.
static double tflops(const EstimateReport &report) {
  return report.time.flops / (report.time.total * report.ranks()) / 1e12;
}

static json::Object timeObject(const EstimateReport &report) {
  const cost::StepTime &time = report.time;
  return json::Object{{"seconds", time.total},
                      {"pipeline", time.pipeline},
                      {"bubble", time.bubble},
                      {"data", time.data},
                      {"tie", time.tie},
                      {"update", time.update},
                      {"flops", time.flops},
                      {"model_flops", time.modelFlops},
                      {"tflops", tflops(report)},
                      {"tensor_bytes", time.tensorBytes},
                      {"data_bytes", time.dataBytes},
                      {"stage_bytes", time.stageBytes},
                      {"order", orderText(report)},
                      {"ranks", report.ranks()}};
}

json::Object ptlc::estimateObject(const EstimateReport &report) {
  const cost::StateBytes &bytes = report.layout.bytes;
  json::Array stages;
  for (const cost::StageMemory &memory : memoryOf(report.profile, report.layout)) {
    json::Object stage{{"stage", int64_t(memory.stage)}};
    for (const MemoryPart &part : kParts)
      stage[part.name] = memory.*part.bytes;
    stage["total"] = memory.total();
    stages.push_back(std::move(stage));
  }
  json::Object object{
      {"model", report.model},
      {"source", report.source},
      {"mesh", report.mesh},
      {"parameters", report.profile.parameters()},
      {"bytes_per_parameter", json::Object{{"weight", bytes.weight},
                                           {"gradient", bytes.gradient},
                                           {"master", bytes.master},
                                           {"state", bytes.perState}}},
      {"stages", std::move(stages)},
      {"state_by_zero", json::Array(statesByZero(report))},
      {"units", unitsOf(report)},
  };
  if (!report.cluster.empty())
    object["time"] = timeObject(report);
  return object;
}

static void printStages(const EstimateReport &report, llvm::raw_ostream &os) {
  std::vector<cost::StageMemory> stages = memoryOf(report.profile, report.layout);
  bool many = stages.size() > 1;
  std::vector<cost::StageMemory> shown = {stages.front()};
  if (many)
    shown.push_back(stages.back());
  os << "memory per rank ";
  for (const cost::StageMemory &stage : shown)
    os << (many ? llvm::formatv("{0,14}", "stage " + std::to_string(stage.stage)).str() : "");
  os << "\n";
  auto line = [&](const char *name, auto bytes) {
    os << llvm::formatv("  {0,-14}", name);
    for (const cost::StageMemory &stage : shown)
      os << llvm::formatv("{0,14}", bytesText(bytes(stage)));
    os << "\n";
  };
  for (const MemoryPart &part : kParts)
    line(part.name, [&](const cost::StageMemory &stage) { return stage.*part.bytes; });
  line("total", [](const cost::StageMemory &stage) { return stage.total(); });
  cost::StageMemory peak = peakOf(report.profile, report.layout);
  if (many)
    os << llvm::formatv("  the most on stage {0}: {1}\n", peak.stage, bytesText(peak.total()));
}

/// Units that keep the same are one line.
static void printUnits(const EstimateReport &report, llvm::raw_ostream &os) {
  os << llvm::formatv("activations of a micro-batch with remat{0,10}{1,13}{2,13}{3,13}\n", "none",
                      "attention", "selective", "full");
  const std::vector<cost::Unit> &units = report.profile.units;
  for (size_t begin = 0, end = 0; begin < units.size(); begin = end) {
    auto isAlike = [&](const cost::Unit &unit) {
      return llvm::all_of(kRemats, [&](const RematName &remat) {
        return unit.keptBytes[unsigned(remat.remat)] ==
               units[begin].keptBytes[unsigned(remat.remat)];
      });
    };
    for (end = begin + 1; end < units.size() && isAlike(units[end]); ++end)
      ;
    std::string name = units[begin].name;
    if (end - begin > 1)
      name += " .. " + units[end - 1].name;
    os << llvm::formatv("  {0,-34}", name);
    for (const RematName &remat : kRemats)
      os << llvm::formatv("{0,13}", bytesText(units[begin].keptBytes[unsigned(remat.remat)]));
    os << "\n";
    for (const cost::Kept &value : units[begin].kept)
      if (report.values)
        os << llvm::formatv("    {0,-32}{1,13}  {2}{3}\n", value.name, bytesText(value.bytes),
                            value.dims, value.core ? "  (attention)" : "");
  }
}

static void printTime(const EstimateReport &report, llvm::raw_ostream &os) {
  const cost::StepTime &time = report.time;
  std::string order = orderText(report);
  os << llvm::formatv("time of a step on {0}: {1:f3} s, {2:f1} TFLOP/s on each of {3:f0} devices\n",
                      report.cluster, time.total, tflops(report), report.ranks());
  if (!order.empty())
    os << llvm::formatv("  axes from inside a node outwards: {0}\n", order);
  auto line = [&](const char *name, double seconds) {
    os << llvm::formatv("  {0,-20}{1,10:f3} s\n", name, seconds);
  };
  line("micro-batches", time.pipeline - time.bubble);
  line("waiting", time.bubble);
  line("gradients, weights", time.data + time.tie);
  line("update", time.update);
  os << llvm::formatv("  sent by a rank: {0} over tensor axes, {1} over data axes, {2} between "
                      "stages\n",
                      bytesText(time.tensorBytes), bytesText(time.dataBytes),
                      bytesText(time.stageBytes));
}

void ptlc::printEstimate(const EstimateReport &report, llvm::raw_ostream &os) {
  const cost::StateBytes &bytes = report.layout.bytes;
  os << llvm::formatv("model            {0} ({1})\n", report.model, report.source);
  os << llvm::formatv("mesh             {0}\n", report.mesh.empty() ? "one device" : report.mesh);
  os << llvm::formatv("parameters       {0:f2} million\n", report.profile.parameters() / 1e6);
  os << llvm::formatv("bytes of each    {0:f0} weight, {1:f0} gradient, {2:f0} master, {3:f0} per "
                      "state\n",
                      bytes.weight, bytes.gradient, bytes.master, bytes.perState);
  printStages(report, os);
  std::vector<double> states = statesByZero(report);
  os << llvm::formatv("state with zero 0, 1, 2, 3 over {0:f0} ranks: {1}, {2}, {3}, {4}\n",
                      report.layout.shardRanks, bytesText(states[0]), bytesText(states[1]),
                      bytesText(states[2]), bytesText(states[3]));
  printUnits(report, os);
  if (!report.cluster.empty())
    printTime(report, os);
}
