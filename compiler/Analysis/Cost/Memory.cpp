//===- Memory.cpp - Bytes of a rank ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// States by the laws of ZeRO, activations value by value. What n ranks share is
// cut into equal shards of whole elements, the last one padded.
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Cost/Layout.h"

#include "llvm/ADT/STLExtras.h"

using namespace ptlc::cost;

std::vector<std::vector<unsigned>> ptlc::cost::stagesOf(const Profile &profile, unsigned stages) {
  std::vector<unsigned> parts, first, last;
  for (auto [number, unit] : llvm::enumerate(profile.units))
    if (unit.isPart)
      parts.insert(parts.end(), unit.repeat, number);
    else
      (number == 0 ? first : last).push_back(number);
  std::vector<std::vector<unsigned>> result(stages);
  size_t next = 0;
  for (unsigned stage = 0; stage < stages; ++stage) {
    size_t count = parts.size() / stages + (stage < parts.size() % stages ? 1 : 0);
    if (stage == 0)
      result[stage] = first;
    result[stage].insert(result[stage].end(), parts.begin() + static_cast<long>(next),
                         parts.begin() + static_cast<long>(next + count));
    next += count;
  }
  result.back().insert(result.back().end(), last.begin(), last.end());
  return result;
}

std::vector<std::vector<unsigned>> ptlc::cost::ranksOf(const Profile &profile,
                                                       const Layout &layout) {
  if (layout.stages <= 1 || layout.schedule != Schedule::ZbV)
    return stagesOf(profile, layout.stages);
  std::vector<std::vector<unsigned>> halves = stagesOf(profile, 2 * layout.stages);
  for (unsigned rank = 0; rank < layout.stages; ++rank)
    llvm::append_range(halves[rank], halves[2 * layout.stages - 1 - rank]);
  halves.resize(layout.stages);
  return halves;
}

Elements ptlc::cost::elementsOf(const Profile &profile, const std::vector<unsigned> &stage) {
  Elements sum;
  for (unsigned unit : stage)
    sum.add(profile.units[unit].own);
  for (unsigned number : profile.shared) {
    const WeightShard &weight = profile.weights[number];
    if (llvm::any_of(weight.units, [&](unsigned unit) { return llvm::is_contained(stage, unit); }))
      sum.add(weight.sizes());
  }
  return sum;
}

double ptlc::cost::inFlight(Schedule schedule, double stages, double microbatches, double chunks,
                            double rank) {
  if (stages <= 1)
    return 1;
  switch (schedule) {
  case Schedule::GPipe:
    return microbatches;
  case Schedule::OneFOneB:
    return std::min(microbatches, stages - rank);
  case Schedule::Interleaved:
    if (microbatches == stages)
      return microbatches;
    return std::min(microbatches, (2 * (stages - 1 - rank) + (chunks - 1) * stages + 1) / chunks);
  case Schedule::ZbH1:
  case Schedule::ZbV:
    return std::min(microbatches, stages);
  }
  return microbatches;
}

double ptlc::cost::inWaiting(const Layout &layout, double rank) {
  if (!layout.splitsBackward())
    return 0;
  double most = layout.schedule == Schedule::ZbV ? rank + 0.5 : rank + 1;
  return std::min(most, layout.microbatches);
}

double ptlc::cost::lossPiece(const Profile &profile, const Layout &layout, double bytes) {
  constexpr double kPiece = 64.0 * (1 << 20);
  if (!layout.lossInPieces)
    return bytes;
  double rows = std::max(1.0, profile.samples / profile.sizeOf(profile.dataAxes));
  double pieces = std::min(std::ceil(bytes * profile.ranks() / kPiece), rows);
  return bytes / std::max(1.0, pieces);
}

static void addStates(const Layout &layout, const Elements &elements, StageMemory &memory) {
  auto share = [&](double count, int level) {
    return layout.zero >= level ? std::ceil(count / layout.shardRanks) : count;
  };
  const StateBytes &bytes = layout.bytes;
  memory.weights = bytes.weight * (share(elements.trained, 3) + elements.all - elements.trained);
  bool isWhole = layout.stages > 1 && layout.microbatches > 1;
  memory.gradients = bytes.gradient * (isWhole ? elements.trained : share(elements.trained, 2));
  memory.optimizer =
      bytes.master * share(elements.trained, 1) + bytes.perState * share(elements.states, 1);
}

/// Whole weights of two units, with overlap of one more that is on its way; whole gradients of one.
static double gatheredBytes(const Profile &profile, const Layout &layout,
                            const std::vector<unsigned> &stage) {
  if (layout.zero < 2)
    return 0;
  std::vector<double> sizes;
  for (unsigned unit : stage)
    sizes.push_back(elementsOf(profile, {unit}).all);
  llvm::sort(sizes, std::greater<>());
  sizes.resize(std::max<size_t>(sizes.size(), 3));
  double bytes = 0;
  if (layout.stages <= 1 || layout.microbatches <= 1)
    bytes += layout.bytes.gradient * sizes[0];
  if (layout.zero >= 3)
    bytes += layout.bytes.weight * (sizes[0] + sizes[1] + (layout.overlapData ? sizes[2] : 0));
  return bytes;
}

/// What a collective of the backward holds that is on its way beside products.
static double startedBytes(const Unit &unit) {
  double most = 0;
  for (const Task &task : unit.tasks)
    if (task.work == Work::Transfer && !task.beside.empty())
      most = std::max(most, task.bytes);
  return most;
}

static void addActivations(const Profile &profile, const Layout &layout,
                           const std::vector<unsigned> &stage, StageMemory &memory) {
  double kept = 0, head = 0, late = 0;
  double share = layout.remat == Remat::Full ? layout.rematShare : 1;
  for (unsigned number : stage) {
    const Unit &unit = profile.units[number];
    double whole = unit.keptBytes[0];
    double less = unit.isPart ? unit.keptBytes[static_cast<unsigned>(layout.remat)] : whole;
    // Nothing is made again across the phases of a pipeline, unless all is.
    if (layout.stages > 1) {
      whole += unit.phaseBytes;
      less += unit.isPart && layout.remat == Remat::Full ? 0 : unit.phaseBytes;
    }
    kept += share * less + (1 - share) * whole;
    // The loss region's gradients aren't split. What is computed again may be read late, too.
    if (unit.isPart || number == 0)
      late += unit.lateBytes + whole - less;
    double work = unit.workBytes + (whole - less);
    if (layout.overlapTensor)
      work += startedBytes(unit);
    if (unit.lossBytes > 0)
      work += 2 * lossPiece(profile, layout, unit.lossBytes);
    memory.work = std::max(memory.work, work);
    // What the last unit keeps goes at once.
    if (!unit.isPart && number != 0)
      head += whole;
  }
  double flight =
      inFlight(layout.schedule, layout.stages, layout.microbatches, layout.chunks, memory.stage);
  memory.activations = flight * (kept - head) + head + inWaiting(layout, memory.stage) * late;
}

std::vector<StageMemory> ptlc::cost::memoryOf(const Profile &profile, const Layout &layout) {
  std::vector<StageMemory> result;
  for (auto [number, stage] : llvm::enumerate(ranksOf(profile, layout))) {
    StageMemory memory;
    memory.stage = number;
    addStates(layout, elementsOf(profile, stage), memory);
    memory.gathered = gatheredBytes(profile, layout, stage);
    addActivations(profile, layout, stage, memory);
    result.push_back(memory);
  }
  return result;
}

StageMemory ptlc::cost::peakOf(const Profile &profile, const Layout &layout) {
  std::vector<StageMemory> all = memoryOf(profile, layout);
  return *llvm::max_element(
      all, [](const StageMemory &a, const StageMemory &b) { return a.total() < b.total(); });
}
