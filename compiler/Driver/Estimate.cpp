//===- Estimate.cpp - ptlc estimate: what a plan would need ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Driver/Estimate.h"

#include "compiler/Driver/EstimateReport.h"
#include "compiler/Driver/PlayPlans.h"
#include "compiler/Driver/ProgramProfile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace ptlc;

namespace {
/// One run of the command.
class Estimation {
public:
  Estimation(const CompileOptions &options, const EstimateOptions &estimate)
      : options(options), estimate(estimate), frontend(options) {}
  int run();

private:
  std::optional<EstimateReport> report();
  bool replacePrecision(sema::PlanSpec &plan);
  bool replaceZero(sema::PlanSpec &plan);
  bool replaceRemat(sema::PlanSpec &plan);
  bool readBytes(cost::StateBytes &bytes);
  bool predict(const sema::Program &program, const sema::PlanSpec &plan, EstimateReport &report);
  bool isMegatron() const { return estimate.like == "megatron"; }
  bool refuse(const llvm::Twine &text) {
    frontend.diagnostics.error({}, text);
    return false;
  }

  const CompileOptions &options;
  const EstimateOptions &estimate;
  Frontend frontend;
};
} // namespace

bool Estimation::replacePrecision(sema::PlanSpec &plan) {
  if (estimate.precision.empty())
    return true;
  plan.precisions.clear();
  sema::PrecisionRule rule;
  if (estimate.precision == "bf16")
    rule.precision = sema::Precision::BF16;
  else if (estimate.precision != "f32")
    return refuse("--precision takes f32 or bf16, not '" + estimate.precision + "'");
  plan.precisions.push_back(rule);
  return true;
}

/// Reads "3" (over all axes that divide the batch) or "3:dp".
bool Estimation::replaceZero(sema::PlanSpec &plan) {
  if (estimate.zero.empty())
    return true;
  auto [level, names] = llvm::StringRef(estimate.zero).split(':');
  sema::ZeroRule rule;
  if (level.getAsInteger(10, rule.level) || rule.level < 0 || rule.level > 3)
    return refuse("--zero takes 0, 1, 2 or 3, and perhaps axes, such as 3:dp; got '" +
                  estimate.zero + "'");
  llvm::SmallVector<llvm::StringRef> axes;
  names.split(axes, ',', -1, /*KeepEmpty=*/false);
  for (const sema::ShardRule &shard : plan.shards)
    if (axes.empty() && llvm::is_contained(shard.dims, sema::kBatchDim) && !shard.between)
      rule.over = shard.axes;
  for (llvm::StringRef name : axes) {
    auto axis =
        llvm::find_if(plan.mesh, [&](const sema::MeshAxis &other) { return other.name == name; });
    if (axis == plan.mesh.end())
      return refuse("--zero: the mesh has no axis '" + name + "'");
    rule.over.axes.push_back(static_cast<unsigned>(axis - plan.mesh.begin()));
  }
  plan.zeros = {rule};
  return true;
}

bool Estimation::replaceRemat(sema::PlanSpec &plan) {
  if (estimate.remat.empty())
    return true;
  std::optional<sema::Remat> remat = llvm::StringSwitch<std::optional<sema::Remat>>(estimate.remat)
                                         .Case("none", sema::Remat::None)
                                         .Case("attention", sema::Remat::Attention)
                                         .Case("selective", sema::Remat::Selective)
                                         .Case("full", sema::Remat::Full)
                                         .Default(std::nullopt);
  if (!remat)
    return refuse("--remat takes none, attention, selective or full, not '" + estimate.remat + "'");
  sema::RematRule rule;
  rule.remat = *remat;
  plan.remats = {rule};
  return true;
}

bool Estimation::readBytes(cost::StateBytes &bytes) {
  llvm::StringRef text = estimate.bytesPerParameter;
  if (text.empty())
    return true;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',');
  double numbers[3] = {};
  bool good = parts.size() == 3;
  for (size_t i = 0; good && i < 3; ++i)
    good = !parts[i].getAsDouble(numbers[i]) && numbers[i] >= 0;
  if (text == "16")
    bytes = {2, 2, 4, 4};
  else if (text == "18")
    bytes = {2, 4, 4, 4};
  else if (text == "20")
    bytes = {2, 2, 8, 4};
  else if (good)
    bytes = {numbers[0], numbers[1], numbers[2], 0};
  else
    return refuse("--bytes-per-parameter takes 16, 18, 20, or bytes of weight, gradient and "
                  "optimizer such as 2,4,12; got '" +
                  text + "'");
  return true;
}

/// What Megatron-LM of 2021 did: nothing runs beside a collective but, without a pipeline or as
/// `overlap` says, the sums of gradients; gradients are added by a kernel of their own.
static void behaveLikeMegatron(const sema::PlanSpec &plan, cost::Layout &layout) {
  layout.bytes = {2, 2, 8, 4};
  layout.overlapTensor = false;
  layout.overlapData = plan.overlap.value_or(!plan.pipeline);
  layout.scatterGather = layout.blockingSends = true;
  layout.fusedAccumulation = layout.lossInPieces = false;
}

/// Adds the time of a step on the cluster that the options or the plan name.
bool Estimation::predict(const sema::Program &program, const sema::PlanSpec &plan,
                         EstimateReport &report) {
  const sema::ClusterSpec *cluster = plan.cluster ? &program.clusters[*plan.cluster] : nullptr;
  if (!estimate.cluster.empty()) {
    cluster = llvm::find_if(program.clusters, [&](const sema::ClusterSpec &other) {
                return other.name == estimate.cluster;
              }).base();
    if (cluster == program.clusters.data() + program.clusters.size())
      return refuse("the program has no cluster '" + estimate.cluster + "'");
  }
  if (!cluster)
    return true;
  report.cluster = cluster->name;
  report.machine = machineOf(*cluster);
  cost::Times times(report.machine, cost::Constants());
  report.layout.order = bestOrder(plan, report.profile, report.layout, times);
  report.time =
      timeOf(report.profile, unitTimes(report.profile, report.layout, times), report.layout, times);
  bool isFile = plan.pipeline && plan.pipeline->schedule == sema::PipeSchedule::File;
  if (!isFile && !report.layout.blockingSends)
    playPipeline(report.profile, report.layout, times, report.time);
  return true;
}

static std::string meshText(const sema::PlanSpec &plan) {
  std::vector<std::string> axes;
  for (const sema::MeshAxis &axis : plan.mesh)
    axes.push_back(axis.name + " = " + std::to_string(axis.size));
  return llvm::join(axes, ", ");
}

std::optional<EstimateReport> Estimation::report() {
  std::optional<sema::Program> program = frontend.analyze();
  if (program && !program->trains)
    refuse("nothing to estimate: the file has no 'train' block");
  if (!program || frontend.diagnostics.hasErrors())
    return std::nullopt;
  std::optional<sema::PlanSpec> plan =
      sema::selectPlan(*program, options.plan, options.mesh, frontend.diagnostics);
  if (estimate.like != "ptlc" && !isMegatron())
    refuse("--like takes ptlc or megatron, not '" + estimate.like + "'");
  if (!plan || frontend.diagnostics.hasErrors() || !replacePrecision(*plan) ||
      !replaceZero(*plan) || !replaceRemat(*plan) ||
      !sema::checkMicrobatches(*program, *plan, frontend.diagnostics))
    return std::nullopt;
  std::optional<bool> half = isHalf(*plan, frontend.diagnostics);
  if (!half)
    return std::nullopt;
  std::optional<cost::Profile> profile =
      ProgramProfiler().run(frontend, *program, *plan, *half,
                            isMegatron() ? cost::Kernels::Separate : cost::Kernels::Fused);
  if (!profile)
    return std::nullopt;
  std::optional<cost::Layout> layout = layoutOf(*program, *plan, *profile, frontend.diagnostics);
  if (layout && isMegatron())
    behaveLikeMegatron(*plan, *layout);
  if (!layout || !readBytes(layout->bytes))
    return std::nullopt;
  EstimateReport report{program->train.model, options.input, meshText(*plan),
                        std::move(*profile),  *layout,       estimate.values};
  if (!predict(*program, *plan, report))
    return std::nullopt;
  return report;
}

int Estimation::run() {
  std::optional<EstimateReport> result = report();
  if (!frontend.finish(llvm::errs()) || !result)
    return kFailure;
  if (options.json)
    llvm::outs() << llvm::formatv("{0:2}\n", llvm::json::Value(estimateObject(*result)));
  else
    printEstimate(*result, llvm::outs());
  return kSuccess;
}

int ptlc::runEstimate(const CompileOptions &options, const EstimateOptions &estimate) {
  return Estimation(options, estimate).run();
}
