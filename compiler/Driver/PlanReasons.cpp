//===- PlanReasons.cpp - Why a plan uses what it uses ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Driver/PlanReasons.h"

#include "compiler/Driver/Report.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace ptlc;
using cost::Candidate;

namespace {
/// Says why the chosen plan of a search is what it is.
class Reasons {
public:
  Reasons(const cost::Search &search, const cost::Profile &profile, const cost::Machine &machine)
      : search(search), chosen(search.fits[search.chosen]), layout(chosen.layout), profile(profile),
        machine(machine) {}
  std::vector<std::string> run();

private:
  std::string data() const;
  std::string zero() const;
  std::string tensor() const;
  std::string stages() const;
  std::string schedule() const;
  double statesOfOne() const;
  double partElements() const;
  double parts() const;
  void add(bool isUsed, const std::string &reason, bool (*uses)(const Candidate &candidate));

  const cost::Search &search;
  const Candidate &chosen;
  const cost::Layout &layout;
  const cost::Profile &profile;
  const cost::Machine &machine;
  std::vector<std::string> reasons;
};
} // namespace

/// Bytes of states of a rank that shares none of them.
double Reasons::statesOfOne() const {
  cost::Layout alone = layout;
  alone.zero = 0;
  return peakOf(profile, alone).state();
}

/// Weights of the largest part, of all tensor ranks.
double Reasons::partElements() const {
  double most = 0;
  for (const cost::Unit &unit : profile.units)
    if (unit.isPart)
      most = std::max(most, unit.own.all);
  return most * chosen.tensor;
}

double Reasons::parts() const {
  double count = 0;
  for (const cost::Unit &unit : profile.units)
    count += unit.isPart ? unit.repeat : 0;
  return count;
}

std::string Reasons::data() const {
  bool isAll = chosen.tensor == 1 && layout.stages == 1 && layout.zero == 0;
  return isAll
             ? llvm::formatv("data ranks: the model fits into one device ({0} of {1}), but one is "
                             "too slow, so {2:f0} devices share the batch",
                             bytesText(chosen.bytes), bytesText(machine.memory), layout.dataRanks)
                   .str()
             : llvm::formatv(
                   "data ranks: one copy of the model is too slow, so {0:f0} copies share "
                   "the batch",
                   layout.dataRanks)
                   .str();
}

std::string Reasons::zero() const {
  double states = statesOfOne();
  bool fits = states < machine.memory;
  return llvm::formatv("zero {0}: {1} of states {2} {3}, so {4:f0} data ranks {5}", layout.zero,
                       bytesText(states), fits ? "fit into" : "don't fit into",
                       bytesText(machine.memory), layout.shardRanks,
                       fits ? "share them to save memory and time of the update" : "share them");
}

std::string Reasons::tensor() const {
  std::string links = machine.nodes > 1
                          ? llvm::formatv("{0}/s against {1}/s between nodes",
                                          bytesText(machine.intra), bytesText(machine.inter))
                                .str()
                          : bytesText(machine.intra) + "/s";
  return llvm::formatv(
      "tensor ranks: layers are large ({0:f1} million weights) and links of a node "
      "fast ({1}), so {2} devices share each layer",
      partElements() / 1e6, links, chosen.tensor);
}

std::string Reasons::stages() const {
  bool spans = machine.ranks() > machine.devices;
  std::string where = spans ? llvm::formatv("spans {0:f0} machines", machine.nodes).str()
                            : "is too large for one device";
  return llvm::formatv("pipeline stages: the model is deep ({0:f0} layers) and {1}, so {2} stages "
                       "share the layers and send little ({3} a step)",
                       parts(), where, layout.stages, bytesText(chosen.time.stageBytes));
}

std::string Reasons::schedule() const {
  bool isSplit = layout.splitsBackward();
  return llvm::formatv("schedule {0}: {1}", chosen.schedule(),
                       isSplit ? "gradients of weights fill the gaps between those of inputs"
                               : "more and smaller stages per rank shorten the gaps");
}

void Reasons::add(bool isUsed, const std::string &reason,
                  bool (*uses)(const Candidate &candidate)) {
  if (!isUsed)
    return;
  auto without = llvm::find_if(search.fits, [&](const Candidate &other) { return !uses(other); });
  std::string text = reason + "; ";
  if (without == search.fits.end())
    text += "no plan without fits";
  else
    text += llvm::formatv("the best plan without ({0}) takes {1:f2} times as long", without->kind(),
                          without->time.total / chosen.time.total)
                .str();
  reasons.push_back(text);
}

static bool usesData(const Candidate &c) { return c.layout.dataRanks > 1; }
static bool usesZero(const Candidate &c) { return c.layout.zero > 0; }
static bool usesTensor(const Candidate &c) { return c.tensor > 1; }
static bool usesStages(const Candidate &c) { return c.layout.stages > 1; }
static bool usesRemat(const Candidate &c) { return c.layout.remat != cost::Remat::None; }
static bool usesSequence(const Candidate &c) { return c.sequence; }
static bool usesSchedule(const Candidate &c) {
  return c.layout.stages == 1 || c.layout.schedule != cost::Schedule::OneFOneB;
}

std::vector<std::string> Reasons::run() {
  if (usesData(chosen) && usesTensor(chosen) && usesStages(chosen))
    reasons.push_back("tensor, pipeline and data: the largest models need all three");
  add(usesData(chosen), data(), usesData);
  add(usesZero(chosen), zero(), usesZero);
  add(usesTensor(chosen), tensor(), usesTensor);
  add(usesStages(chosen), stages(), usesStages);
  add(usesStages(chosen) && usesSchedule(chosen), schedule(), usesSchedule);
  add(usesRemat(chosen), "recomputation: activations are made again instead of kept", usesRemat);
  add(chosen.sequence,
      "sequence cut: activations between layers are cut over the tensor ranks, too", usesSequence);
  if (reasons.empty())
    reasons.push_back("one device: model, states and activations fit");
  return std::move(reasons);
}

std::vector<std::string> ptlc::reasonsFor(const cost::Search &search, const cost::Profile &profile,
                                          const cost::Machine &machine) {
  return Reasons(search, profile, machine).run();
}
