//===- PlanCommand.cpp - ptlc plan: the fastest plan for a cluster --------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Driver/PlanSearch.h"

#include "compiler/Driver/Files.h"
#include "compiler/Driver/PlanReasons.h"
#include "compiler/Driver/PlayPlans.h"
#include "compiler/Driver/Report.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace ptlc;
namespace json = llvm::json;

namespace {
/// One run of the command.
class PlanRun {
public:
  PlanRun(const CompileOptions &options, const PlanOptions &plan)
      : options(options), plan(plan), frontend(options) {}
  int run();

private:
  bool analyze();
  bool findMachine();
  bool findPrecision();
  cost::PlanSpace spaceFor(const PlannedProgram &source) const;
  void explain(const cost::Search &search, PlannedProgram &source);
  std::string planText(const cost::Candidate &candidate) const;
  std::string shardLines(const cost::Candidate &candidate, bool hybrid) const;
  std::string rematLine(const cost::Layout &layout) const;
  std::string placeLine(const cost::Candidate &candidate, bool hybrid) const;
  void printText(const cost::Search &search, llvm::raw_ostream &os) const;
  void printTable(const cost::Search &search, llvm::raw_ostream &os) const;
  json::Object searchObject(const cost::Search &search) const;
  bool refuse(const llvm::Twine &text) {
    frontend.diagnostics.error({}, text);
    return false;
  }

  const CompileOptions &options;
  const PlanOptions &plan;
  Frontend frontend;
  std::optional<sema::Program> program;
  const sema::ClusterSpec *cluster = nullptr;
  cost::Machine machine;
  TensorCuts cuts;
  bool isHalf = false; ///< values have two bytes
  std::vector<std::string> reasons;
};
} // namespace

bool PlanRun::findMachine() {
  std::vector<std::string> names;
  for (const sema::ClusterSpec &other : program->clusters) {
    names.push_back(other.name);
    if (other.name == plan.cluster)
      cluster = &other;
  }
  if (!cluster)
    return refuse("the program has no cluster '" + plan.cluster + "'" +
                  (names.empty() ? "" : "; its clusters are " + llvm::join(names, ", ")));
  machine = machineOf(*cluster);
  if (plan.devices == 0)
    return true;
  if (plan.devices > machine.ranks())
    return refuse("cluster '" + plan.cluster + "' has " +
                  llvm::Twine(static_cast<int64_t>(machine.ranks())) + " devices, not " +
                  llvm::Twine(plan.devices));
  if (plan.devices > machine.devices && plan.devices % static_cast<unsigned>(machine.devices))
    return refuse("--devices takes whole nodes of " +
                  llvm::Twine(static_cast<int64_t>(machine.devices)) + ", or a part of one");
  machine.devices = std::min<double>(machine.devices, plan.devices);
  machine.nodes = plan.devices / machine.devices;
  return true;
}

bool PlanRun::analyze() {
  program = frontend.analyze();
  if (program && !program->trains)
    refuse("nothing to plan: the file has no 'train' block");
  return program && !frontend.diagnostics.hasErrors() && findMachine() && findPrecision();
}

/// What was asked for, or what the file's plans for the cluster agree on.
bool PlanRun::findPrecision() {
  if (!plan.precision.empty()) {
    isHalf = plan.precision == "bf16";
    return isHalf || plan.precision == "f32" ||
           refuse("--precision takes f32 or bf16, not '" + plan.precision + "'");
  }
  unsigned plans = 0, halves = 0;
  for (const sema::PlanSpec &other : program->plans) {
    if (!other.cluster || &program->clusters[*other.cluster] != cluster)
      continue;
    ++plans;
    halves += llvm::any_of(other.precisions, [](const sema::PrecisionRule &rule) {
      return rule.in.empty() && rule.precision == sema::Precision::BF16;
    });
  }
  isHalf = plans > 0 && halves == plans;
  return true;
}

cost::PlanSpace PlanRun::spaceFor(const PlannedProgram &source) const {
  cost::PlanSpace space;
  space.batch = static_cast<double>(program->train.batch);
  if (!isHalf)
    space.bytes = cost::StateBytes();
  space.tensor = {1};
  for (unsigned degree = 2; degree <= machine.ranks() && degree <= 64; ++degree)
    if (!source.cuts().dims.empty() && source.cuts().divide(*program, degree))
      space.tensor.push_back(degree);
  space.canCutSequence = source.cuts().sequence.has_value();
  if (source.cuts().hasStack)
    space.parts = static_cast<unsigned>(program->stacks[source.cuts().stack].parts.size());
  return space;
}

std::string PlanRun::shardLines(const cost::Candidate &candidate, bool hybrid) const {
  std::string text = hybrid ? "  shard batch: (copies, dp)" : "  shard batch: dp";
  if (candidate.tensor > 1)
    for (sema::DimId dim : cuts.dims)
      text += ", " + program->dims[dim].name + ": tp";
  text += "\n";
  if (candidate.sequence)
    text += "  shard " + program->dims[*cuts.sequence].name +
            ": tp, between: " + program->stacks[cuts.stack].path + "\n";
  return text;
}

std::string PlanRun::rematLine(const cost::Layout &layout) const {
  switch (layout.remat) {
  case cost::Remat::None:
    return "";
  case cost::Remat::Attention:
    return "  remat attention\n";
  case cost::Remat::Selective:
    return "  remat selective\n";
  case cost::Remat::Full:
    break;
  }
  if (layout.rematShare == 1 || !cuts.hasStack)
    return "  remat full\n";
  const sema::PartStack &stack = program->stacks[cuts.stack];
  auto last =
      static_cast<int64_t>(std::ceil(layout.rematShare * static_cast<double>(stack.parts.size())));
  return "  remat full, in: " + stack.path + "[0.." + std::to_string(last) + "]\n";
}

/// From the outermost axis inwards.
std::string PlanRun::placeLine(const cost::Candidate &candidate, bool hybrid) const {
  std::vector<std::string> names;
  for (int axis : llvm::reverse(candidate.layout.order)) {
    if (axis == cost::Layout::kStages && candidate.layout.stages > 1)
      names.push_back("pp");
    else if (axis == cost::Layout::kData && candidate.layout.dataRanks > 1)
      names.push_back(hybrid ? "copies, dp" : "dp");
  }
  if (candidate.tensor > 1)
    names.push_back("tp");
  return names.size() > 1 ? "  place " + llvm::join(names, ", ") + "\n" : "";
}

/// The candidate as a block of .ptl.
std::string PlanRun::planText(const cost::Candidate &candidate) const {
  const cost::Layout &layout = candidate.layout;
  bool hybrid = layout.shardRanks < layout.dataRanks;
  std::vector<std::string> axes;
  auto axis = [&](const char *name, double size) {
    axes.push_back(llvm::formatv("{0} = {1:f0}", name, size));
  };
  if (layout.stages > 1)
    axis("pp", layout.stages);
  if (hybrid)
    axis("copies", layout.dataRanks / layout.shardRanks);
  axis("dp", hybrid ? layout.shardRanks : layout.dataRanks);
  if (candidate.tensor > 1)
    axis("tp", candidate.tensor);
  std::string text = "plan chosen on mesh(" + llvm::join(axes, ", ") + ") of " + cluster->name +
                     " {\n" + shardLines(candidate, hybrid);
  if (layout.stages > 1)
    text += "  pipeline " + program->stacks[cuts.stack].path +
            ", over: pp, schedule: " + candidate.schedule() + "\n";
  if (layout.microbatches > 1)
    text += llvm::formatv("  microbatches {0:f0}\n", layout.microbatches);
  if (layout.zero > 0)
    text += "  zero " + std::to_string(layout.zero) + ", over: dp\n";
  if (layout.dataRanks > 1 || candidate.tensor > 1)
    text += "  overlap\n";
  if (isHalf)
    text += "  precision bf16\n";
  return text + rematLine(layout) + placeLine(candidate, hybrid) + "}\n";
}

static std::string rematText(const cost::Layout &layout) {
  switch (layout.remat) {
  case cost::Remat::None:
    return "-";
  case cost::Remat::Attention:
    return "attention";
  case cost::Remat::Selective:
    return "selective";
  case cost::Remat::Full:
    return llvm::formatv("full {0:f0} %", 100 * layout.rematShare);
  }
  return "";
}

void PlanRun::printTable(const cost::Search &search, llvm::raw_ostream &os) const {
  os << llvm::formatv(
      "{0,12}{1,5}{2,5}{3,6}{4,7}{5,8}{6,16}{7,11}{8,4}{9,10}{10,11}{11,11}{12,8}\n", "kind", "tp",
      "pp", "dp", "zero", "samples", "schedule", "remat", "seq", "seconds", "memory", "sent",
      "idle");
  auto line = [&](const cost::Candidate &c, bool chosen) {
    double sent = c.time.tensorBytes + c.time.dataBytes + c.time.stageBytes;
    std::string zero = std::to_string(c.layout.zero);
    if (c.layout.shardRanks < c.layout.dataRanks)
      zero += llvm::formatv("/{0:f0}", c.layout.shardRanks);
    os << llvm::formatv("{0,12}{1,5}{2,5}{3,6:f0}{4,7}{5,8}{6,16}{7,11}{8,4}{9,10:f3}{10,11}{11,11}"
                        "{12,6:f1} %{13}\n",
                        c.kind(), c.tensor, c.layout.stages, c.layout.dataRanks, zero, c.samples,
                        c.layout.stages > 1 ? c.schedule() : "-", rematText(c.layout),
                        c.sequence ? "cut" : "-", c.time.total, bytesText(c.bytes), bytesText(sent),
                        100 * c.time.idleShare(), chosen ? "  <" : "");
  };
  size_t count = std::min<size_t>(plan.shown, search.fits.size());
  for (size_t i = 0; i < count; ++i)
    line(search.fits[i], i == search.chosen);
  if (search.chosen >= count) {
    os << "the simplest plan that is as fast within 1 %:\n";
    line(search.fits[search.chosen], true);
  }
}

void PlanRun::printText(const cost::Search &search, llvm::raw_ostream &os) const {
  os << llvm::formatv("{0} plans fit on {1:f0} devices of {2}; a step of {3:f0} samples in {4}\n",
                      search.fits.size(), machine.ranks(), cluster->name,
                      static_cast<double>(program->train.batch), isHalf ? "bf16" : "f32");
  printTable(search, os);
  for (const std::string &reason : reasons)
    os << reason << "\n";
  os << "\n" << planText(search.fits[search.chosen]);
}

static json::Object candidateObject(const cost::Candidate &c) {
  return json::Object{{"kind", c.kind()},
                      {"tp", int64_t(c.tensor)},
                      {"pp", int64_t(c.layout.stages)},
                      {"dp", c.layout.dataRanks},
                      {"zero", int64_t(c.layout.zero)},
                      {"shards", c.layout.shardRanks},
                      {"samples", int64_t(c.samples)},
                      {"microbatches", c.layout.microbatches},
                      {"schedule", c.layout.stages > 1 ? c.schedule() : ""},
                      {"remat", rematText(c.layout)},
                      {"sequence", c.sequence},
                      {"seconds", c.time.total},
                      {"memory", c.bytes},
                      {"idle", c.time.idleShare()},
                      {"model_flops", c.time.modelFlops},
                      {"tensor_bytes", c.time.tensorBytes},
                      {"data_bytes", c.time.dataBytes},
                      {"stage_bytes", c.time.stageBytes}};
}

json::Object PlanRun::searchObject(const cost::Search &search) const {
  json::Array best;
  for (size_t i = 0; i < std::min<size_t>(plan.shown, search.fits.size()); ++i)
    best.push_back(candidateObject(search.fits[i]));
  json::Object kinds; // the best of each
  for (const cost::Candidate &candidate : llvm::reverse(search.fits))
    kinds[candidate.kind()] = candidate.time.total;
  return json::Object{{"chosen", candidateObject(search.fits[search.chosen])},
                      {"best", std::move(best)},
                      {"kinds", std::move(kinds)},
                      {"reasons", json::Array(reasons)},
                      {"timed", int64_t(search.timed)},
                      {"plan", planText(search.fits[search.chosen])}};
}

void PlanRun::explain(const cost::Search &search, PlannedProgram &source) {
  const cost::Candidate &chosen = search.fits[search.chosen];
  reasons =
      reasonsFor(search, *source.profile(chosen.tensor, chosen.sequence, chosen.samples), machine);
}

int PlanRun::run() {
  std::optional<cost::Search> search;
  if (analyze()) {
    PlannedProgram source(options, *program, isHalf);
    cuts = source.cuts();
    cost::Times times(machine, cost::Constants());
    cost::PlanSpace space = spaceFor(source);
    search = cost::searchPlans(source, space, times);
    if (!search->fits.empty())
      PlanPlayer(source, space, times).rankAgain(*search, plan.shown);
    if (search->fits.empty())
      refuse(llvm::formatv("no plan fits into {0} on each of {1:f0} devices",
                           bytesText(machine.memory), machine.ranks())
                 .str());
    else
      explain(*search, source);
  }
  if (!frontend.finish(llvm::errs()) || !search)
    return kFailure;
  if (!options.output.empty() &&
      !writeFile(options.output, planText(search->fits[search->chosen]), false, llvm::errs()))
    return kFailure;
  if (options.json)
    llvm::outs() << llvm::formatv("{0:2}\n", json::Value(searchObject(*search)));
  else
    printText(*search, llvm::outs());
  return kSuccess;
}

int ptlc::runPlan(const CompileOptions &options, const PlanOptions &plan) {
  return PlanRun(options, plan).run();
}
