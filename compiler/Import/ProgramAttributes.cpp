//===- ProgramAttributes.cpp - train and plan as attributes ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Nothing after the importer reads the source text: what later stages and the
// runtime must know of `train` and the plan becomes dictionaries here, with the
// places that messages will need.
//===----------------------------------------------------------------------===//
#include "compiler/Import/ProgramAttributes.h"

#include "compiler/Import/Links.h"
#include "compiler/Import/Recomputation.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace ptlc;
using namespace mlir;

namespace {
/// Collects named attributes; entries are sorted by the dictionary itself.
class Entries {
public:
  explicit Entries(OpBuilder &builder) : builder(builder) {}

  Entries &text(StringRef name, const Twine &value) {
    return add(name, builder.getStringAttr(value));
  }
  Entries &integer(StringRef name, int64_t value) {
    return add(name, builder.getI64IntegerAttr(value));
  }
  Entries &real(StringRef name, double value) { return add(name, builder.getF64FloatAttr(value)); }
  Entries &flag(StringRef name, bool value) { return add(name, builder.getBoolAttr(value)); }
  Entries &add(StringRef name, Attribute value) {
    list.emplace_back(builder.getStringAttr(name), value);
    return *this;
  }
  DictionaryAttr get() { return builder.getDictionaryAttr(list); }

private:
  OpBuilder &builder;
  SmallVector<NamedAttribute> list;
};
} // namespace

static StringRef initName(sema::InitKind kind) {
  switch (kind) {
  case sema::InitKind::Zeros:
    return "zeros";
  case sema::InitKind::Ones:
    return "ones";
  case sema::InitKind::Constant:
    return "constant";
  case sema::InitKind::Normal:
    return "normal";
  case sema::InitKind::TruncNormal:
    return "trunc_normal";
  case sema::InitKind::Uniform:
    return "uniform";
  }
  return "zeros";
}

static StringRef dataName(sema::DataKind kind) {
  switch (kind) {
  case sema::DataKind::Tokens:
    return "tokens";
  case sema::DataKind::Text:
    return "text";
  case sema::DataKind::Npy:
    return "npy";
  }
  return "tokens";
}

static StringRef tailName(sema::Tail tail) {
  return tail == sema::Tail::Drop ? "drop" : tail == sema::Tail::Short ? "short" : "wrap";
}

static StringRef scheduleName(sema::ScheduleKind kind) {
  switch (kind) {
  case sema::ScheduleKind::Constant:
    return "constant";
  case sema::ScheduleKind::WarmupCosine:
    return "warmup_cosine";
  case sema::ScheduleKind::WarmupLinear:
    return "warmup_linear";
  case sema::ScheduleKind::Steps:
    return "steps";
  }
  return "constant";
}

std::string ptlc::import::placeOf(lang::SourceRange range, const lang::SourceManager &sources) {
  if (!range.file.isValid())
    return "";
  return sources.name(range.file).str() + ":" + std::to_string(range.begin.line) + ":" +
         std::to_string(range.begin.column);
}

DictionaryAttr ptlc::import::initAttribute(OpBuilder &builder, const sema::InitialValue &init) {
  return Entries(builder)
      .text("kind", initName(init.kind))
      .real("a", init.a)
      .real("b", init.b)
      .get();
}

static DictionaryAttr dataAttribute(OpBuilder &builder, const sema::DataSpec &data,
                                    const lang::SourceManager &sources) {
  SmallVector<Attribute> files;
  for (const sema::DataFile &file : data.files)
    files.push_back(Entries(builder).text("field", file.field).text("file", file.file).get());
  return Entries(builder)
      .text("kind", dataName(data.kind))
      .add("files", builder.getArrayAttr(files))
      .flag("shuffle", data.shuffle)
      .text("tail", tailName(data.tail))
      .text("line", import::placeOf(data.range, sources))
      .get();
}

static DictionaryAttr optimizerAttribute(OpBuilder &builder, const sema::Program &program,
                                         const sema::OptimizerSpec &optimizer,
                                         const lang::SourceManager &sources) {
  SmallVector<Attribute> paths;
  for (uint32_t weight : optimizer.weights)
    paths.push_back(builder.getStringAttr(program.weights[weight].path));
  Entries entries(builder);
  entries.add("weights", builder.getArrayAttr(paths))
      .real("lr", optimizer.lr)
      .real("weight_decay", optimizer.weightDecay)
      .text("line", import::placeOf(optimizer.range, sources));
  if (optimizer.kind == sema::OptimizerKind::Sgd)
    return entries.text("kind", "sgd")
        .real("momentum", optimizer.momentum)
        .real("dampening", optimizer.dampening)
        .flag("nesterov", optimizer.nesterov)
        .get();
  if (optimizer.kind == sema::OptimizerKind::Muon)
    return entries.text("kind", "muon")
        .real("momentum", optimizer.momentum)
        .flag("nesterov", optimizer.nesterov)
        .real("a", optimizer.polynomial[0])
        .real("b", optimizer.polynomial[1])
        .real("c", optimizer.polynomial[2])
        .real("eps", optimizer.eps)
        .integer("ns_steps", optimizer.nsSteps)
        .text("adjust_lr", optimizer.adjustLr)
        .get();
  entries.real("beta1", optimizer.beta1).real("beta2", optimizer.beta2);
  if (optimizer.kind == sema::OptimizerKind::Lion)
    return entries.text("kind", "lion").get();
  return entries.text("kind", optimizer.kind == sema::OptimizerKind::Lamb ? "lamb" : "adamw")
      .real("eps", optimizer.eps)
      .get();
}

static DictionaryAttr scheduleAttribute(OpBuilder &builder, const sema::ScheduleSpec &schedule) {
  return Entries(builder)
      .text("kind", scheduleName(schedule.kind))
      .integer("warmup", schedule.warmup)
      .integer("total", schedule.total)
      .real("min_lr", schedule.minLr)
      .add("at", builder.getI64ArrayAttr(schedule.at))
      .real("factor", schedule.factor)
      .get();
}

static void addFiles(OpBuilder &builder, Entries &entries, const sema::Program &program,
                     const lang::SourceManager &sources, bool padsEvaluation) {
  const sema::TrainSpec &train = program.train;
  SmallVector<Attribute> evals, inits;
  for (const sema::EvalSpec &eval : train.evals) {
    sema::DataSpec data = eval.data;
    if (!data.tailGiven && padsEvaluation)
      data.tail = sema::Tail::Short;
    evals.push_back(Entries(builder)
                        .add("data", dataAttribute(builder, data, sources))
                        .integer("every", eval.every)
                        .integer("batches", eval.batches.value_or(0))
                        .text("line", import::placeOf(eval.range, sources))
                        .get());
  }
  for (const sema::InitSpec &init : train.inits)
    inits.push_back(Entries(builder)
                        .text("file", init.file)
                        .text("to", init.prefix)
                        .text("line", import::placeOf(init.range, sources))
                        .get());
  entries.add("evals", builder.getArrayAttr(evals)).add("init", builder.getArrayAttr(inits));
  if (train.checkpoint)
    entries.add("checkpoint", Entries(builder)
                                  .text("dir", train.checkpoint->directory)
                                  .integer("every", train.checkpoint->every.value_or(0))
                                  .text("line", import::placeOf(train.checkpoint->range, sources))
                                  .get());
}

DictionaryAttr ptlc::import::trainAttribute(OpBuilder &builder, const sema::Program &program,
                                            const lang::SourceManager &sources,
                                            bool padsEvaluation) {
  const sema::TrainSpec &train = program.train;
  SmallVector<Attribute> optimizers;
  for (const sema::OptimizerSpec &optimizer : train.optimizers)
    optimizers.push_back(optimizerAttribute(builder, program, optimizer, sources));
  Entries entries(builder);
  entries.text("model", train.model)
      .add("data", dataAttribute(builder, train.data, sources))
      .integer("batch", train.batch)
      .integer("steps", train.steps)
      .integer("seed", static_cast<int64_t>(train.seed))
      .add("optimizers", builder.getArrayAttr(optimizers))
      .add("schedule", scheduleAttribute(builder, train.schedule))
      .text("on_nonfinite", train.onNonfinite == sema::OnNonfinite::Stop ? "stop" : "skip");
  if (train.clip)
    entries.real("clip", *train.clip);
  addFiles(builder, entries, program, sources, padsEvaluation);
  return entries.get();
}

static StringRef promiseName(sema::Promise::What what) {
  switch (what) {
  case sema::Promise::What::Memory:
    return "memory";
  case sema::Promise::What::Traffic:
    return "traffic";
  case sema::Promise::What::Bubble:
    return "bubble";
  case sema::Promise::What::Time:
    return "time";
  }
  return "memory";
}

static DictionaryAttr promiseAttribute(OpBuilder &builder, const sema::PlanSpec &plan,
                                       const sema::Promise &promise,
                                       const lang::SourceManager &sources) {
  static constexpr const char *kSigns[] = {"<=", "<", ">=", ">"};
  Entries entries(builder);
  entries.text("what", promiseName(promise.what))
      .text("sign", kSigns[static_cast<size_t>(promise.comparison)])
      .real("value", promise.value)
      .text("line", import::placeOf(promise.range, sources));
  if (promise.axis)
    entries.text("axis", plan.mesh[*promise.axis].name);
  return entries.get();
}

static StringRef pipeScheduleName(sema::PipeSchedule schedule) {
  switch (schedule) {
  case sema::PipeSchedule::GPipe:
    return "gpipe";
  case sema::PipeSchedule::OneFOneB:
    return "one_f_one_b";
  case sema::PipeSchedule::Interleaved:
    return "interleaved";
  case sema::PipeSchedule::ZbH1:
    return "zb_h1";
  case sema::PipeSchedule::ZbV:
    return "zb_v";
  case sema::PipeSchedule::File:
    return "file";
  }
  return "one_f_one_b";
}

/// The text of the file of `schedule: file("x.csv")`, beside the program; empty if it can't be
/// read, which is an error when the schedule is made.
static std::string readOrders(const sema::PipelineRule &rule, const lang::SourceManager &sources) {
  if (rule.schedule != sema::PipeSchedule::File)
    return "";
  llvm::SmallString<128> path(llvm::sys::path::parent_path(sources.name(rule.range.file)));
  llvm::sys::path::append(path, rule.file);
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

static DictionaryAttr pipelineAttribute(OpBuilder &builder, const sema::Program &program,
                                        const sema::PlanSpec &plan,
                                        const lang::SourceManager &sources) {
  const sema::PipelineRule &rule = *plan.pipeline;
  SmallVector<Attribute> parts, cuts;
  for (const sema::StackRef &stack : rule.stacks)
    for (sema::PartId part : stack.parts)
      parts.push_back(builder.getStringAttr(program.parts[part].path));
  for (const sema::PathRef &cut : rule.cuts)
    cuts.push_back(builder.getStringAttr(program.parts[cut.parts.front()].path));
  return Entries(builder)
      .text("axis", plan.mesh[rule.over.axes.front()].name)
      .add("parts", builder.getArrayAttr(parts))
      .add("cuts", builder.getArrayAttr(cuts))
      .text("schedule", pipeScheduleName(rule.schedule))
      .integer("chunks", rule.schedule == sema::PipeSchedule::ZbV ? 2 : rule.chunks)
      .text("orders", readOrders(rule, sources))
      .text("line", import::placeOf(rule.range, sources))
      .get();
}

/// The rule for a weight: the one with the longest path; null without one.
static const sema::ZeroRule *zeroRuleFor(const sema::PlanSpec &plan, uint32_t weight) {
  const sema::ZeroRule *best = nullptr;
  unsigned strength = 0;
  for (const sema::ZeroRule &rule : plan.zeros) {
    if (rule.in.empty() && !best)
      best = &rule;
    for (const sema::PathRef &path : rule.in)
      if (llvm::is_contained(path.weights, weight) && (strength < path.strength || !strength)) {
        best = &rule;
        strength = path.strength;
      }
  }
  return best;
}

/// Per rule that splits something on this mesh: its level, axes, line and the weights that it holds
/// for.
static ArrayAttr zeroAttribute(OpBuilder &builder, const sema::Program &program,
                               const sema::PlanSpec &plan, const lang::SourceManager &sources) {
  SmallVector<Attribute> rules;
  for (const sema::ZeroRule &rule : plan.zeros) {
    SmallVector<StringRef> axes, weights;
    for (unsigned axis : plan.wide(rule.over))
      axes.push_back(plan.mesh[axis].name);
    for (uint32_t weight = 0; weight < program.weights.size(); ++weight)
      if (zeroRuleFor(plan, weight) == &rule)
        weights.push_back(program.weights[weight].path);
    if (!rule.level || axes.empty() || weights.empty())
      continue;
    Entries entries(builder);
    rules.push_back(entries.integer("level", rule.level)
                        .add("axes", builder.getStrArrayAttr(axes))
                        .add("weights", builder.getStrArrayAttr(weights))
                        .text("line", import::placeOf(rule.range, sources))
                        .get());
  }
  return builder.getArrayAttr(rules);
}

/// Where the plan says the sizes of its axes; empty if `--mesh` says any of them.
static std::string placeOfMesh(const sema::PlanSpec &plan, const lang::SourceManager &sources) {
  auto isWritten = [](const sema::MeshAxis &axis) { return axis.range.file.isValid(); };
  if (plan.mesh.empty() || !llvm::all_of(plan.mesh, isWritten))
    return "";
  return import::placeOf(plan.mesh.front().range, sources);
}

/// The links of a cluster, bytes and seconds, as far as the program says.
static DictionaryAttr clusterAttribute(OpBuilder &builder, const sema::ClusterSpec &cluster) {
  Entries entries(builder);
  entries.text("name", cluster.name);
  std::pair<StringRef, std::optional<double>> fields[] = {{"devices", cluster.devices},
                                                          {"intra", cluster.intra},
                                                          {"inter", cluster.inter},
                                                          {"intra_latency", cluster.intraLatency},
                                                          {"inter_latency", cluster.interLatency}};
  for (auto [name, value] : fields)
    if (value)
      entries.real(name, *value);
  return entries.get();
}

/// The `precision` directives, one entry for each path; only where one isn't f32.
static ArrayAttr precisionAttribute(OpBuilder &builder, const sema::Program &program,
                                    const sema::PlanSpec &plan,
                                    const lang::SourceManager &sources) {
  static constexpr const char *kTypes[] = {"f32", "bf16", "f16"};
  SmallVector<Attribute> rules;
  bool any = false;
  for (const sema::PrecisionRule &rule : plan.precisions) {
    any |= rule.precision != sema::Precision::F32;
    auto begin = [&](Entries &entries) -> Entries & {
      return entries.text("type", kTypes[static_cast<size_t>(rule.precision)])
          .text("line", import::placeOf(rule.range, sources));
    };
    if (rule.in.empty()) {
      Entries entries(builder);
      rules.push_back(begin(entries).get());
    }
    for (const sema::PathRef &path : rule.in) {
      SmallVector<Attribute> parts, weights;
      if (path.target == sema::PathRef::Target::Part)
        for (sema::PartId part : path.parts)
          parts.push_back(builder.getStringAttr(program.parts[part].path));
      for (uint32_t weight : path.weights)
        weights.push_back(builder.getStringAttr(program.weights[weight].path));
      Entries entries(builder);
      rules.push_back(begin(entries)
                          .integer("strength", path.strength)
                          .add("parts", builder.getArrayAttr(parts))
                          .add("weights", builder.getArrayAttr(weights))
                          .get());
    }
  }
  return any ? builder.getArrayAttr(rules) : ArrayAttr();
}

DictionaryAttr ptlc::import::planAttribute(OpBuilder &builder, const sema::Program &program,
                                           const sema::PlanSpec &plan, const Directives &directives,
                                           const lang::SourceManager &sources) {
  SmallVector<Attribute> mesh, promises;
  for (const PlacedAxis &placed : placeAxes(program, plan)) {
    const sema::MeshAxis &axis = plan.mesh[placed.axis];
    if (axis.size == 1)
      continue;
    Entries entry(builder);
    entry.text("name", axis.name).integer("size", axis.size);
    if (placed.link != 1)
      entry.real("link", placed.link);
    mesh.push_back(entry.get());
  }
  for (const sema::Promise &promise : plan.promises)
    promises.push_back(promiseAttribute(builder, plan, promise, sources));
  Entries entries(builder);
  if (plan.cluster)
    entries.add("cluster", clusterAttribute(builder, program.clusters[*plan.cluster]));
  if (plan.bucketBytes)
    entries.integer("bucket", static_cast<int64_t>(*plan.bucketBytes));
  if (!plan.remats.empty())
    entries.add("remat", rematAttribute(builder, program, plan, sources));
  if (plan.pipeline && plan.mesh[plan.pipeline->over.axes.front()].size > 1)
    entries.add("pipeline", pipelineAttribute(builder, program, plan, sources));
  if (ArrayAttr precision = precisionAttribute(builder, program, plan, sources))
    entries.add("precision", precision);
  return entries.text("name", plan.name)
      .add("mesh", builder.getArrayAttr(mesh))
      .text("mesh_line", placeOfMesh(plan, sources))
      .add("shard", directives.attribute(builder, sources))
      .add("promises", builder.getArrayAttr(promises))
      .integer("microbatches", plan.microbatches)
      .text("microbatches_line", import::placeOf(plan.microbatchesRange, sources))
      .flag("reproducible", plan.reproducible)
      .flag("overlap", plan.overlap.value_or(false))
      .add("zero", zeroAttribute(builder, program, plan, sources))
      .get();
}
