//===- Profile.cpp - What a rank's step consists of -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Cost/Profile.h"

#include "compiler/Analysis/Cost/KeptValues.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::cost;

int Profile::findAxis(StringRef name) const {
  for (auto [place, axis] : llvm::enumerate(axes))
    if (axis.name == name)
      return static_cast<int>(place);
  return -1;
}

double Profile::sizeOf(AxisMask mask) const {
  double size = 1;
  for (auto [place, axis] : llvm::enumerate(axes))
    if (mask >> place & 1)
      size *= static_cast<double>(axis.size);
  return size;
}

double Profile::parameters() const {
  double sum = 0;
  for (const WeightShard &weight : weights)
    sum += weight.globalElements * (weight.units.size() == 1 ? units[weight.units[0]].repeat : 1);
  return sum;
}

static double keptUnder(const Unit &unit, Remat remat) {
  if (remat == Remat::Full && !unit.isPart)
    remat = Remat::None;
  double bytes = remat == Remat::Full ? unit.inputBytes : 0;
  for (const Kept &value : unit.kept) {
    if (value.isLoss || (remat != Remat::None && value.core) ||
        (remat == Remat::Attention && value.attends) ||
        (remat == Remat::Full && !value.isStatistic))
      continue;
    bool again = remat == Remat::Selective && value.shardBytes > 0;
    bytes += again ? value.shardBytes : value.bytes;
  }
  return bytes;
}

void Profile::sumUp() {
  shared.clear();
  for (Unit &unit : units) {
    unit.own = {};
    for (unsigned remat = 0; remat < kRemats; ++remat)
      unit.keptBytes[remat] = keptUnder(unit, static_cast<Remat>(remat));
  }
  for (auto [number, weight] : llvm::enumerate(weights))
    if (weight.units.size() == 1)
      units[weight.units.front()].own.add(weight.sizes());
    else
      shared.push_back(number);
}

double Profile::ranks() const { return sizeOf(~AxisMask(0)); }

/// The accumulate that yields gradients.
static ptl::AccumulateOp findAccumulate(func::FuncOp step) {
  ptl::AccumulateOp found;
  step.walk([&](ptl::AccumulateOp accumulate) {
    if (accumulate->hasAttr("ptl.grad"))
      found = accumulate;
  });
  return found;
}

static StringRef role(func::FuncOp step, unsigned argument, StringRef key) {
  auto text = step.getArgAttrOfType<StringAttr>(argument, key);
  return text ? text.getValue() : StringRef();
}

static double elements(Type type) {
  return static_cast<double>(cast<RankedTensorType>(type).getNumElements());
}

static void readWeights(func::FuncOp step, const StepBody &body, Profile &profile) {
  llvm::StringMap<unsigned> states;
  for (unsigned i = 0; i < step.getNumArguments(); ++i)
    if (role(step, i, "ptl.role") == "state")
      states[role(step, i, "ptl.path").split('#').first]++;
  llvm::StringSet<> trained;
  step.walk([&](ptl::OptimizeOp optimize) {
    for (auto name : optimize.getNames().getAsRange<StringAttr>())
      trained.insert(name.getValue());
  });
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    if (role(step, i, "ptl.role") != "weight")
      continue;
    WeightShard weight;
    StringRef path = role(step, i, "ptl.path");
    weight.path = path.str();
    weight.elements = elements(step.getArgument(i).getType());
    auto global = step.getArgAttrOfType<TypeAttr>(i, "spmd.global_type");
    weight.globalElements = global ? elements(global.getValue()) : weight.elements;
    weight.trained = trained.contains(path);
    weight.states = states.lookup(path);
    for (Operation *reader : body.readers(step.getArgument(i)))
      if (body.contains(reader) && body.isForward(reader))
        weight.units.push_back(body.unitOf(reader));
    llvm::sort(weight.units);
    weight.units.erase(llvm::unique(weight.units), weight.units.end());
    if (weight.units.empty())
      weight.units.push_back(0);
    profile.weights.push_back(std::move(weight));
  }
}

/// The axes that cut the first dimension of the data, and the samples of a micro-batch.
static void readData(func::FuncOp step, Profile &profile, const OperationBuilder &operations) {
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    auto sharding = step.getArgAttrOfType<spmd::ShardingAttr>(i, "spmd.sharding");
    auto type = cast<RankedTensorType>(step.getArgument(i).getType());
    if (role(step, i, "ptl.role") != "data" || type.getRank() == 0)
      continue;
    if (sharding)
      profile.dataAxes |= operations.maskOf(sharding.getAxes(0));
    auto global = step.getArgAttrOfType<TypeAttr>(i, "spmd.global_type");
    auto whole = global ? cast<RankedTensorType>(global.getValue()) : type;
    profile.samples = static_cast<double>(whole.getDimSize(0)) / profile.microbatches;
  }
}

std::optional<Profile> cost::profileOf(ModuleOp module, const ProfileOptions &options) {
  auto step = module.lookupSymbol<func::FuncOp>("step");
  ptl::AccumulateOp accumulate = step ? findAccumulate(step) : ptl::AccumulateOp();
  if (!accumulate)
    return std::nullopt;
  Profile profile;
  if (spmd::MeshOp mesh = spmd::findMesh(module))
    for (spmd::AxisAttr axis : mesh.getAxisRange())
      profile.axes.push_back({axis.getName().str(), axis.getSize()});
  profile.microbatches = static_cast<double>(accumulate.getPieces());
  StepBody body(accumulate, options);
  for (auto [number, name] : llvm::enumerate(body.unitNames())) {
    profile.units.push_back({});
    profile.units.back().name = name;
    profile.units.back().isPart = body.isPart(number);
  }
  OperationBuilder operations(body, options.kernels, profile);
  operations.run();
  KeptFinder(body, operations, profile).run();
  readWeights(step, body, profile);
  readData(step, profile, operations);
  profile.sumUp();
  return profile;
}

/// a at one sample, b at two: the value at `samples`.
static double line(double a, double b, double samples) { return a + (b - a) * (samples - 1); }

static std::optional<Unit> unitBetween(const Unit &one, const Unit &two, double samples) {
  if (one.tasks.size() != two.tasks.size() || one.kept.size() != two.kept.size())
    return std::nullopt;
  Unit unit = one;
  unit.inputBytes = line(one.inputBytes, two.inputBytes, samples);
  unit.phaseBytes = line(one.phaseBytes, two.phaseBytes, samples);
  unit.lateBytes = line(one.lateBytes, two.lateBytes, samples);
  unit.workBytes = line(one.workBytes, two.workBytes, samples);
  unit.lossBytes = line(one.lossBytes, two.lossBytes, samples);
  for (size_t i = 0; i < unit.tasks.size(); ++i) {
    const Task &a = one.tasks[i], &b = two.tasks[i];
    Task &operation = unit.tasks[i];
    if (a.work != b.work || a.transfer != b.transfer || a.axes != b.axes)
      return std::nullopt;
    for (double Task::*size :
         {&Task::batch, &Task::m, &Task::n, &Task::k, &Task::flops, &Task::bytes})
      operation.*size = line(a.*size, b.*size, samples);
  }
  for (size_t i = 0; i < unit.kept.size(); ++i)
    for (double Kept::*size : {&Kept::bytes, &Kept::shardBytes})
      unit.kept[i].*size = line(one.kept[i].*size, two.kept[i].*size, samples);
  return unit;
}

std::optional<Profile> cost::between(const Profile &one, const Profile &two, double samples) {
  if (one.units.size() != two.units.size() || one.weights.size() != two.weights.size())
    return std::nullopt;
  Profile profile = one;
  for (size_t i = 0; i < one.units.size(); ++i) {
    std::optional<Unit> unit = unitBetween(one.units[i], two.units[i], samples);
    if (!unit)
      return std::nullopt;
    profile.units[i] = std::move(*unit);
  }
  profile.samples = line(one.samples, two.samples, samples);
  profile.sumUp();
  return profile;
}
