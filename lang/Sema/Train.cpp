//===- Train.cpp - The train block ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sorts the entries by name, checks that those needed are there, and reads the
// simple ones; data, optimizers and schedules have files of their own.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Train.h"

#include "lang/Sema/Parts.h"
#include "lang/Sema/Paths.h"

#include "llvm/ADT/StringExtras.h"

namespace ptlc::sema {

llvm::ArrayRef<llvm::StringRef> trainEntries() {
  static constexpr llvm::StringRef names[] = {"data",       "batch", "steps",       "optimizer",
                                              "schedule",   "clip",  "seed",        "eval",
                                              "checkpoint", "init",  "on_nonfinite"};
  return names;
}

llvm::ArrayRef<llvm::StringRef> planEntries() {
  static constexpr llvm::StringRef names[] = {"shard",     "pipeline",    "microbatches", "zero",
                                              "precision", "remat",       "place",        "overlap",
                                              "bucket",    "reproducible"};
  return names;
}

TrainAnalyzer::TrainAnalyzer(Context &ctx, FileScope &main)
    : ctx(ctx), main(main), decl(*main.train) {
  frame.file = &main;
}

const ast::CallDirective *TrainAnalyzer::entry(llvm::StringRef name) const {
  auto found = entries.find(name);
  return found == entries.end() ? nullptr : found->second.front();
}

void TrainAnalyzer::sortEntries() {
  for (const ast::DirectivePtr &directive : decl.directives) {
    const auto *call = llvm::dyn_cast<ast::CallDirective>(directive.get());
    if (!call) {
      ctx.error(directive->range, "'assert' belongs in a plan");
      continue;
    }
    llvm::StringRef name = call->name.text;
    if (!llvm::is_contained(trainEntries(), name)) {
      bool ofPlan = llvm::is_contained(planEntries(), name);
      std::string suggestion = ofPlan ? ("; '" + name + "' belongs in a plan").str()
                                      : lang::didYouMean(name, trainEntries());
      ctx.error(call->range, "'train' has no '" + name + "'" + suggestion);
      // What it should have been isn't missing.
      llvm::StringRef meant = lang::nearest(name, trainEntries());
      if (!ofPlan && !meant.empty())
        entries[meant];
      continue;
    }
    std::vector<const ast::CallDirective *> &same = entries[name];
    bool isList = name == "eval" || name == "init";
    if (!same.empty() && !isList)
      ctx.error(call->range, "'" + name + "' is given twice")
          .note(same.front()->range, "given " + ctx.lineOf(same.front()->range, call->range));
    same.push_back(call);
  }
}

void TrainAnalyzer::begin() {
  sortEntries();
  requireEntries();
  TrainSpec &train = ctx.program.train;
  train.range = decl.range;
  if (const ast::CallDirective *directive = entry("data")) {
    EntryReader reader(ctx, frame, *directive);
    if (std::optional<DataSpec> data = readData(reader, {}))
      train.data = std::move(*data);
  }
  if (std::optional<int64_t> batch = sizeEntry("batch", train.batchRange)) {
    train.batch = *batch;
    ctx.program.dims[kBatchDim].size = *batch;
    ctx.program.dims[kBatchDim].range = train.batchRange;
  }
}

void TrainAnalyzer::requireEntries() {
  for (llvm::StringRef name : {"data", "batch", "steps", "optimizer"})
    if (!entries.contains(name))
      ctx.error(decl.range, "'train' needs '" + name + "'");
  // Placeholders of misspelt names have done their duty.
  entries.remove_if([](const auto &entry) { return entry.second.empty(); });
}

std::optional<int64_t> TrainAnalyzer::sizeEntry(llvm::StringRef name, lang::SourceRange &place) {
  const ast::CallDirective *directive = entry(name);
  const Entity *define = ctx.takeDefine(name);
  if (!directive)
    return std::nullopt;
  place = directive->range;
  if (define) {
    const auto *value = define->as<int64_t>();
    if (value && *value >= 1)
      return *value;
    if (!define->isPoison())
      ctx.error({}, "-D " + name + ": expected a whole number of at least 1, found " +
                        numberText(*define));
    return std::nullopt;
  }
  EntryReader reader(ctx, frame, *directive);
  reader.accept({}, 1);
  const ast::Arg *value = reader.single();
  return value ? reader.integer(*value, 1) : std::nullopt;
}

PartInstance *TrainAnalyzer::buildModel() {
  const ast::Name &head = decl.model.parts.front();
  Evaluator evaluator(ctx, frame);
  if (!main.scope.find(head.text)) {
    llvm::SmallVector<llvm::StringRef> candidates;
    main.scope.collect(candidates);
    ctx.error(decl.model.range,
              "unknown name '" + head.text + "'" + lang::didYouMean(head.text, candidates));
    return nullptr;
  }
  Entity entity = evaluator.lookup(decl.model);
  if (entity.isPoison())
    return nullptr;
  const auto *module = entity.as<ModuleEntity>();
  if (!module || !module->decl->isModel) {
    ctx.error(decl.model.range, "'" + decl.model.str() + "' is not a model");
    return nullptr;
  }
  ctx.program.train.model = module->decl->name.str();
  PartBuilder builder(ctx);
  return builder.buildModel(*module, decl.model.range);
}

void TrainAnalyzer::finish(PartInstance *model) {
  TrainSpec &train = ctx.program.train;
  if (std::optional<int64_t> steps = sizeEntry("steps", train.stepsRange))
    train.steps = *steps;
  if (const ast::CallDirective *directive = entry("optimizer")) {
    EntryReader reader(ctx, frame, *directive);
    train.optimizers = readOptimizers(reader, model);
  }
  if (const ast::CallDirective *directive = entry("schedule")) {
    EntryReader reader(ctx, frame, *directive);
    train.schedule = readSchedule(reader, train.steps);
  }
  clipAndSeed();
  evals();
  checkpoint();
  if (model)
    inits(*model);
}

void TrainAnalyzer::clipAndSeed() {
  TrainSpec &train = ctx.program.train;
  if (const ast::CallDirective *directive = entry("clip")) {
    EntryReader reader(ctx, frame, *directive);
    reader.accept({}, 1);
    train.clipRange = directive->range;
    if (const ast::Arg *value = reader.single())
      train.clip = reader.positive(*value);
  }
  if (const ast::CallDirective *directive = entry("seed")) {
    EntryReader reader(ctx, frame, *directive);
    reader.accept({}, 1);
    train.seedRange = directive->range;
    if (const ast::Arg *value = reader.single())
      train.seed = reader.integer(*value, 0).value_or(0);
  }
  if (const ast::CallDirective *directive = entry("on_nonfinite")) {
    EntryReader reader(ctx, frame, *directive);
    reader.accept({}, 1);
    train.onNonfiniteRange = directive->range;
    if (const ast::Arg *what = reader.single())
      if (std::optional<unsigned> word = reader.word(*what, {"stop", "skip"}))
        train.onNonfinite = *word == 0 ? OnNonfinite::Stop : OnNonfinite::Skip;
  }
}

void TrainAnalyzer::evals() {
  for (const ast::CallDirective *directive : entries.lookup("eval")) {
    EntryReader reader(ctx, frame, *directive);
    EvalSpec eval;
    eval.range = directive->range;
    if (std::optional<DataSpec> data = readData(reader, {"every", "batches"}))
      eval.data = std::move(*data);
    if (const ast::Arg *every = reader.required("every"))
      eval.every = reader.integer(*every, 1).value_or(0);
    if (const ast::Arg *batches = reader.named("batches"))
      eval.batches = reader.integer(*batches, 1);
    checkEvalFields(eval);
    ctx.program.train.evals.push_back(std::move(eval));
  }
}

void TrainAnalyzer::checkEvalFields(const EvalSpec &eval) {
  const DataSpec &data = ctx.program.train.data;
  std::vector<std::string> wanted = dataFields(data), found = dataFields(eval.data);
  if (wanted.empty() || found.empty() || wanted == found)
    return;
  ctx.error(eval.range, "'eval' needs the fields that 'data' has: " + llvm::join(wanted, ", ") +
                            "; it has " + llvm::join(found, ", "))
      .note(data.range, "'data' is " + ctx.lineOf(data.range, eval.range));
}

void TrainAnalyzer::checkpoint() {
  const ast::CallDirective *directive = entry("checkpoint");
  if (!directive)
    return;
  EntryReader reader(ctx, frame, *directive);
  reader.accept({"every"}, 1);
  CheckpointSpec checkpoint;
  checkpoint.range = directive->range;
  if (const ast::Arg *folder = reader.single())
    checkpoint.directory = reader.text(*folder).value_or("");
  if (const ast::Arg *every = reader.named("every"))
    checkpoint.every = reader.integer(*every, 1);
  ctx.program.train.checkpoint = std::move(checkpoint);
}

void TrainAnalyzer::inits(PartInstance &model) {
  PathResolver paths(ctx, frame, model);
  for (const ast::CallDirective *directive : entries.lookup("init")) {
    EntryReader reader(ctx, frame, *directive);
    reader.accept({"to"}, 1);
    InitSpec init;
    init.range = directive->range;
    if (const ast::Arg *file = reader.single())
      init.file = reader.text(*file).value_or("");
    const ast::Arg *to = reader.named("to");
    if (!to) {
      init.weights = std::vector<uint32_t>();
      for (uint32_t i = 0; i < ctx.program.weights.size(); ++i)
        init.weights.push_back(i);
    } else if (std::optional<PathRef> path = paths.resolve(*to->value)) {
      if (path->target != PathRef::Target::Part || path->parts.size() != 1)
        ctx.error(to->range, "'to' names one part, '" + path->text + "' doesn't");
      else
        init.prefix = ctx.program.parts[path->parts.front()].path;
      init.weights.assign(path->weights.begin(), path->weights.end());
    }
    ctx.program.train.inits.push_back(std::move(init));
  }
}

} // namespace ptlc::sema
