//===- StepTime.cpp - How long a step takes -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Micro-batches through the stages by closed forms, then what happens once:
// gradients between data ranks, tied weights, the update. Formulas and sources:
// compiler/doc/Cost.md.
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Cost/StepTime.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace ptlc::cost;

static double sumOf(const std::vector<double> &values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}
static double mostOf(const std::vector<double> &values) {
  return *std::max_element(values.begin(), values.end());
}

double ptlc::cost::pipelineTime(const Layout &layout, const std::vector<double> &forward,
                                const std::vector<double> &backward,
                                const std::vector<double> &weight, double edge) {
  double p = layout.stages, m = layout.microbatches, v = layout.chunks;
  std::vector<double> both;
  for (size_t stage = 0; stage < forward.size(); ++stage)
    both.push_back(forward[stage] + backward[stage]);
  double most = mostOf(both), sum = sumOf(both);
  if (layout.stages <= 1)
    return m * sum;
  double waits = layout.blockingSends ? 2 * edge * layout.stagesPerRank() : 0;
  double ends = 2 * (p - 1) * edge;
  switch (layout.schedule) {
  case Schedule::GPipe:
  case Schedule::OneFOneB:
    return sum + (m - 1) * (most + waits) + ends;
  case Schedule::Interleaved:
    return m * (most + waits) + (sum - most) / v + ends;
  case Schedule::ZbH1:
    return m * (most + waits) + std::max(0.0, sum - most - 2 * (sumOf(weight) - mostOf(weight))) +
           ends;
  case Schedule::ZbV: // ranks start and end staggered, and the step ends with all of them
    return m * (most + waits) + (p - 1) / 2 * mostOf(forward) + ends;
  }
  return 0;
}

namespace {
/// Builds one StepTime.
class StepTimer {
public:
  StepTimer(const Profile &profile, const std::vector<UnitTime> &units, const Layout &layout,
            const Times &times)
      : profile(profile), units(units), layout(layout), times(times),
        placement(profile, layout, times.machine), stages(ranksOf(profile, layout)) {}
  StepTime run();
  StageTime stageTime(const std::vector<unsigned> &stage);

private:
  void addUnit(unsigned number, StageTime &stage);
  bool isEnd(unsigned number) const { return !profile.units[number].isPart && number != 0; }
  double again(unsigned number) const;
  double accumulation(const Elements &elements) const;
  void shardedStorage(const Elements &elements, double &forward, double &backward) const;
  double edgeTime();
  void oncePerStep(double lastBackward);
  double largestStage() const;

  const Profile &profile;
  const std::vector<UnitTime> &units;
  const Layout &layout;
  const Times &times;
  Placement placement;
  std::vector<std::vector<unsigned>> stages; ///< of each rank
  StepTime result;
};
} // namespace

/// Time to compute again what isn't kept.
double StepTimer::again(unsigned number) const {
  const UnitTime &unit = units[number];
  bool isPart = profile.units[number].isPart;
  switch (layout.remat) {
  case Remat::None:
    return 0;
  case Remat::Attention:
    return unit.core + unit.attends;
  case Remat::Selective:
    return unit.core + unit.gather;
  case Remat::Full:
    return isPart ? unit.forward * layout.rematShare : 0;
  }
  return 0;
}

/// To add gradients to those of earlier micro-batches, unless the products do it.
double StepTimer::accumulation(const Elements &elements) const {
  if (layout.fusedAccumulation)
    return 0;
  double bytes = layout.microbatches > 1 ? 4 + 2 * layout.bytes.gradient : 2;
  return times.stream(bytes * elements.trained, 4);
}

/// Weights that are gathered and gradients that are scattered for each micro-batch, with overlap
/// beside the computation.
void StepTimer::shardedStorage(const Elements &elements, double &forward, double &backward) const {
  if (layout.shardRanks <= 1 || layout.zero < 2)
    return;
  Group group = placement.data(layout.shardRanks);
  double gather = times.allGather(layout.bytes.weight * elements.trained, group);
  double scatter =
      layout.scattersEach() ? times.allGather(layout.bytes.gradient * elements.trained, group) : 0;
  auto beside = [&](double work, double travel) {
    if (!layout.overlapData)
      return work + travel;
    return std::max(work + times.constants.overlapTax * std::min(work, travel), travel);
  };
  if (layout.zero >= 3) {
    forward = beside(forward, gather);
    backward = beside(backward, gather + scatter);
  } else {
    backward = beside(backward, scatter);
  }
}

void StepTimer::addUnit(unsigned number, StageTime &stage) {
  const UnitTime &unit = units[number];
  const Elements &own = profile.units[number].own;
  double ahead = unit.forward;
  double back = unit.backward + unit.weight + again(number) + accumulation(own);
  shardedStorage(own, ahead, back);
  if (isEnd(number)) {
    stage.loss += ahead + back;
  } else {
    stage.forward += ahead;
    stage.backward += back - unit.weight;
    stage.weight += unit.weight;
  }
  result.modelFlops += unit.flops;
  result.tensorBytes += unit.tensorBytes;
  result.flops += unit.flops;
  if (layout.remat == Remat::Full && profile.units[number].isPart) {
    result.flops += unit.forwardFlops * layout.rematShare;
    result.tensorBytes += unit.forwardTensorBytes * layout.rematShare;
  } else if (layout.remat == Remat::Attention || layout.remat == Remat::Selective) {
    result.flops += unit.coreFlops + (layout.remat == Remat::Attention ? unit.attendFlops : 0);
  }
}

StageTime StepTimer::stageTime(const std::vector<unsigned> &stage) {
  StageTime sum;
  for (unsigned unit : stage)
    addUnit(unit, sum);
  double elements = elementsOf(profile, stage).trained, ranks = layout.dataRanks;
  double weights = layout.bytes.weight * elements, gradients = layout.bytes.gradient * elements;
  sum.update = times.stream(
      times.constants.updateBytes * elements / (layout.zero ? layout.shardRanks : 1), 20);
  if (ranks <= 1)
    return sum;
  Group group = placement.data(layout.zero >= 3 ? layout.shardRanks : ranks);
  if (layout.zero == 0)
    sum.reduce = times.allReduce(gradients, group);
  else if (!layout.scattersEach())
    sum.reduce = times.allGather(gradients, group);
  if (layout.zero == 1 || layout.zero == 2)
    sum.update += times.allGather(weights, group);
  return sum;
}

static bool sendsParts(const Profile &profile, const Layout &layout) {
  return layout.scatterGather && !layout.sequenceCut && profile.sizeOf(~profile.dataAxes) > 1;
}

double ptlc::cost::edgeBytes(const Profile &profile, const Layout &layout) {
  double bytes = 0;
  for (const Unit &unit : profile.units)
    if (unit.isPart)
      bytes = std::max(bytes, unit.inputBytes);
  return sendsParts(profile, layout) ? bytes / profile.sizeOf(~profile.dataAxes) : bytes;
}

/// One activation, or its gradient, from a stage to the next.
double StepTimer::edgeTime() {
  if (layout.stages <= 1)
    return 0;
  double sent = edgeBytes(profile, layout);
  AxisMask tensor = ~profile.dataAxes;
  result.stageBytes = 2 * sent * layout.microbatches * layout.stagesPerRank();
  double time = times.point(sent, placement.stagesCrossNodes());
  return sendsParts(profile, layout)
             ? time + times.allGather(sent * profile.sizeOf(tensor), placement.group(tensor))
             : time;
}

double StepTimer::largestStage() const {
  double most = 0;
  for (const std::vector<unsigned> &stage : stages)
    most = std::max(most, elementsOf(profile, stage).trained);
  return most;
}

double ptlc::cost::tieTime(const Profile &profile, const Layout &layout, const Times &times,
                           const std::vector<std::vector<unsigned>> &stages) {
  if (layout.stages <= 1)
    return 0;
  double bytes = 0;
  for (unsigned number : profile.shared) {
    const WeightShard &weight = profile.weights[number];
    unsigned uses = 0;
    for (const std::vector<unsigned> &stage : stages)
      uses += llvm::any_of(weight.units,
                           [&](unsigned unit) { return llvm::is_contained(stage, unit); });
    if (uses > 1 && weight.trained)
      bytes += layout.bytes.gradient * weight.elements;
  }
  return times.allReduce(bytes, {2, 1});
}

void StepTimer::oncePerStep(double lastBackward) {
  double elements = largestStage();
  double weights = layout.bytes.weight * elements, gradients = layout.bytes.gradient * elements;
  double ranks = layout.dataRanks, travel = 0;
  auto sent = [&](double bytes) { return ranks > 1 ? bytes * (ranks - 1) / ranks : 0; };
  double scatters = layout.scattersEach() ? layout.microbatches : 1;
  if (ranks > 1) {
    Group group = placement.data(layout.zero >= 3 ? layout.shardRanks : ranks);
    if (layout.zero == 0)
      travel = times.allReduce(gradients, group);
    else if (!layout.scattersEach())
      travel = times.allGather(gradients, group);
    if (layout.zero == 1 || layout.zero == 2)
      travel += times.allGather(weights, group);
    double gathers = layout.zero >= 3 ? 2 * layout.microbatches : 1;
    result.dataBytes =
        scatters * sent(gradients) + (layout.zero ? gathers * sent(weights) : sent(gradients));
    double hidden = layout.overlapData ? 0.85 * lastBackward : 0;
    result.data = layout.overlapData ? std::max(0.05 * travel, travel - hidden) +
                                           times.constants.overlapTax * std::min(travel, hidden)
                                     : travel;
  }
  if (layout.zero >= 3 && ranks > layout.shardRanks)
    result.data += times.allReduce(gradients / layout.shardRanks,
                                   placement.data(layout.shardRanks, /*outer=*/true));
  result.tie = tieTime(profile, layout, times, stages);
  result.update = times.stream(
      times.constants.updateBytes * elements / (layout.zero ? layout.shardRanks : 1), 20);
}

StepTime StepTimer::run() {
  std::vector<double> forward, backward, weight;
  for (const std::vector<unsigned> &stage : stages) {
    StageTime time = stageTime(stage);
    forward.push_back(time.forward);
    backward.push_back(time.both() + time.loss);
    weight.push_back(time.weight);
  }
  double m = layout.microbatches, busiest = 0;
  for (size_t stage = 0; stage < stages.size(); ++stage)
    busiest = std::max(busiest, forward[stage] + backward[stage]);
  result.pipeline = pipelineTime(layout, forward, backward, weight, edgeTime());
  result.bubble = result.pipeline - m * busiest;
  // Of all ranks of all stages.
  double ranks = profile.sizeOf(~profile.dataAxes) * layout.dataRanks;
  result.flops *= m * ranks;
  result.modelFlops *= m * ranks;
  result.tensorBytes *= m / static_cast<double>(stages.size());
  oncePerStep(backward.front());
  result.total = result.pipeline + result.data + result.tie + result.update + times.constants.step;
  return result;
}

StepTime ptlc::cost::timeOf(const Profile &profile, const std::vector<UnitTime> &units,
                            const Layout &layout, const Times &times) {
  return StepTimer(profile, units, layout, times).run();
}

std::vector<StageTime> ptlc::cost::stageTimes(const Profile &profile,
                                              const std::vector<UnitTime> &units,
                                              const Layout &layout, const Times &times,
                                              const std::vector<std::vector<unsigned>> &stages) {
  StepTimer timer(profile, units, layout, times);
  std::vector<StageTime> result;
  for (const std::vector<unsigned> &stage : stages)
    result.push_back(timer.stageTime(stage));
  return result;
}
