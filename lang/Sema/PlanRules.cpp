//===- PlanRules.cpp - Rules about dimensions, weights and parts ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// shard, zero, precision, remat and pipeline: entries that `in:`, `between:` or
// their own arguments tie to places of the model.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Plan.h"

namespace ptlc::sema {

/// Reports what stands where a dimension should.
static void reportNoDimension(Context &ctx, const Entity *entity, llvm::StringRef name,
                              lang::SourceRange range) {
  if (entity && entity->isPoison())
    return;
  if (entity && entity->is<Tensor>()) {
    ctx.error(range, "'" + name + "' is a weight; write 'shard dimension: axis, in: " + name + "'");
    return;
  }
  if (entity) {
    ctx.error(range,
              "'" + name +
                  "' is not a dimension; for one weight write 'dimension: axis, in: " + name + "'");
    return;
  }
  llvm::SmallVector<llvm::StringRef> candidates;
  for (const Dim &dim : ctx.program.dims)
    if (!llvm::is_contained(candidates, dim.name))
      candidates.push_back(dim.name);
  ctx.error(range, "unknown dimension '" + name + "'" + lang::didYouMean(name, candidates));
}

std::optional<DimList> PlanReader::shardedDims(EntryReader &reader, const ast::Arg &arg) {
  llvm::StringRef name = reader.label(arg);
  DimList dims;
  if (arg.label.isSimple()) {
    for (auto [id, dim] : llvm::enumerate(ctx.program.dims))
      if (dim.name == name)
        dims.push_back(id);
    if (!dims.empty())
      return dims;
    Symbol *symbol = model.scope.find(name);
    if (!symbol)
      symbol = main.scope.find(name);
    reportNoDimension(ctx, symbol ? &symbol->value : nullptr, name, arg.range);
    return std::nullopt;
  }
  const Symbol *head = main.scope.find(arg.label.parts.front().text);
  if (!head || !head->value.is<FileEntity>()) {
    reportNoDimension(ctx, nullptr, name, arg.range);
    return std::nullopt;
  }
  Entity entity = Evaluator(ctx, frame).lookup(arg.label);
  if (const auto *dim = entity.as<DimEntity>())
    return DimList{dim->id};
  reportNoDimension(ctx, &entity, name, arg.range);
  return std::nullopt;
}

bool PlanReader::checkHasDim(const PathRef &path, const DimList &dims, llvm::StringRef name) {
  const Program &program = ctx.program;
  auto hasDim = [&](const Type &type) {
    return llvm::any_of(dims, [&](DimId dim) { return type.has(dim); });
  };
  bool found = path.target == PathRef::Target::Part;
  for (uint32_t weight : path.weights)
    found |= hasDim(program.weights[weight].type);
  bool occurs = !path.weights.empty();
  if (path.target == PathRef::Target::Value)
    for (const NamedValue &value : program.loss.names)
      if (value.name == path.valueName && llvm::is_contained(path.parts, value.part)) {
        occurs = true;
        found |= hasDim(program.loss.type(value.value));
      }
  if (found || !occurs)
    return true;
  ctx.error(path.range, "'" + path.text + "' has no dimension '" + name + "'");
  return false;
}

void PlanReader::shard(EntryReader &reader) {
  std::vector<PathRef> in = restriction(reader);
  std::optional<StackRef> between;
  if (const ast::Arg *stack = reader.named("between"))
    between = paths.resolveStack(*stack->value);
  if (reader.named("in") && reader.named("between"))
    ctx.error(reader.range, "'in:' and 'between:' exclude each other");
  bool any = false;
  for (const ast::Arg &arg : reader.args) {
    llvm::StringRef name = reader.label(arg);
    if (name == "in" || name == "between")
      continue;
    any = true;
    if (arg.isPositional()) {
      ctx.error(arg.range, "'shard' takes 'dimension: axis'");
      continue;
    }
    std::optional<DimList> dims = shardedDims(reader, arg);
    std::optional<AxisList> split = axes(*arg.value, /*mayBeNone=*/true);
    if (!dims || !split)
      continue;
    bool fits =
        llvm::all_of(in, [&](const PathRef &path) { return checkHasDim(path, *dims, name); });
    // A restriction in error must not become a rule for everything.
    bool lost = (reader.named("in") && in.empty()) || (reader.named("between") && !between);
    if (fits && !lost)
      plan.shards.push_back({name.str(), *dims, *split, in, between, arg.range});
  }
  if (!any)
    ctx.error(reader.range, "'shard' needs 'dimension: axis'");
}

void PlanReader::zero(EntryReader &reader) {
  reader.accept({"over", "in"}, 1);
  ZeroRule rule;
  rule.range = reader.range;
  rule.in = restriction(reader);
  llvm::SmallVector<const ast::Arg *> places = reader.positional();
  Entity level;
  if (!places.empty() && !llvm::isa<ast::MeasureExpr>(places.front()->value.get()))
    level = ctx.number(reader.evaluator.evaluate(*places.front()->value));
  const auto *number = level.as<int64_t>();
  if (!number || *number < 0 || *number > 3) {
    ctx.error(reader.range, "'zero' takes 0, 1, 2 or 3");
    return;
  }
  rule.level = *number;
  const ast::Arg *over = reader.named("over");
  if (!over) {
    ctx.error(reader.range, "'zero' needs 'over: axis'");
    return;
  }
  std::optional<AxisList> axes = this->axes(*over->value, /*mayBeNone=*/false);
  if (!axes || (reader.named("in") && rule.in.empty()))
    return;
  rule.over = *axes;
  for (const PathRef &path : rule.in)
    if (path.target == PathRef::Target::Value)
      ctx.error(path.range, "'" + path.text + "' is no weight");
  plan.zeros.push_back(std::move(rule));
}

void PlanReader::precision(EntryReader &reader) {
  reader.accept({"in"}, 1);
  PrecisionRule rule;
  rule.range = reader.range;
  rule.in = restriction(reader);
  const ast::Arg *type = reader.single();
  if (!type)
    return;
  std::optional<unsigned> word = reader.word(*type, {"f32", "bf16", "f16"});
  if (!word || (reader.named("in") && rule.in.empty()))
    return;
  for (const PathRef &path : rule.in)
    if (path.target == PathRef::Target::Value) {
      ctx.error(path.range, "'" + path.text + "' is no part and no weight");
      return;
    }
  rule.precision = static_cast<Precision>(*word);
  plan.precisions.push_back(std::move(rule));
}

void PlanReader::remat(EntryReader &reader) {
  reader.accept({"in"}, 1);
  RematRule rule;
  rule.range = reader.range;
  rule.in = restriction(reader);
  const ast::Arg *kind = reader.single();
  if (!kind)
    return;
  std::optional<unsigned> word =
      reader.word(*kind, {"none", "attention", "selective", "full", "auto"});
  if (!word || (reader.named("in") && rule.in.empty()))
    return;
  for (const PathRef &path : rule.in)
    if (path.target == PathRef::Target::Weight)
      ctx.error(path.range, "'" + path.text + "' is a weight, which is never computed");
  rule.remat = static_cast<Remat>(*word);
  plan.remats.push_back(std::move(rule));
}

void PlanReader::pipelineSchedule(EntryReader &reader, PipelineRule &rule) {
  const ast::Arg *schedule = reader.named("schedule");
  if (!schedule)
    return;
  std::optional<unsigned> word =
      reader.word(*schedule, {"gpipe", "one_f_one_b", "interleaved", "zb_h1", "zb_v", "file"});
  if (!word)
    return;
  rule.schedule = static_cast<PipeSchedule>(*word);
  const auto *call = llvm::dyn_cast<ast::CallExpr>(schedule->value.get());
  bool isInterleaved = rule.schedule == PipeSchedule::Interleaved;
  bool takesArgument = isInterleaved || rule.schedule == PipeSchedule::File;
  llvm::StringRef name = headWord(*schedule->value);
  if (!call) {
    if (takesArgument)
      ctx.error(schedule->range, "'" + name + "' needs an argument: " +
                                     (isInterleaved ? "interleaved(2)" : "file(\"x.csv\")"));
    return;
  }
  EntryReader inner(ctx, frame, name, *call);
  inner.accept({}, takesArgument ? 1 : 0);
  const ast::Arg *argument = takesArgument ? inner.single() : nullptr;
  if (argument && isInterleaved)
    rule.chunks = inner.integer(*argument, 1).value_or(1);
  else if (argument)
    rule.file = inner.text(*argument).value_or("");
}

/// Whether `inner` are all parts of the stacks, or inside of one.
static bool cutsStack(const Program &program, const PathRef &cut, const PipelineRule &rule) {
  return llvm::all_of(cut.parts, [&](PartId part) {
    return llvm::any_of(
        rule.stacks, [&](const StackRef &stack) { return llvm::is_contained(stack.parts, part); });
  });
}

void PlanReader::pipeline(EntryReader &reader) {
  reader.accept({"over", "schedule", "cut"}, SIZE_MAX);
  PipelineRule rule;
  rule.range = reader.range;
  if (!reader.single())
    return;
  for (const ast::Arg *arg : reader.positional()) {
    const auto *group = llvm::dyn_cast<ast::GroupExpr>(arg->value.get());
    llvm::SmallVector<const ast::Expr *> exprs;
    if (group)
      for (const ast::ExprPtr &element : group->elements)
        exprs.push_back(element.get());
    else
      exprs.push_back(arg->value.get());
    for (const ast::Expr *expr : exprs)
      if (std::optional<StackRef> stack = paths.resolveStack(*expr))
        rule.stacks.push_back(std::move(*stack));
  }
  pipelineSchedule(reader, rule);
  if (const ast::Arg *cut = reader.named("cut"))
    rule.cuts = paths.resolveAll(*cut->value);
  for (const PathRef &cut : rule.cuts)
    if (cut.target != PathRef::Target::Part || cut.parts.size() != 1 ||
        !cutsStack(ctx.program, cut, rule))
      ctx.error(cut.range, "a stage begins at one part of a stack of this pipeline, '" + cut.text +
                               "' isn't one");
  const ast::Arg *over = reader.named("over");
  if (!over) {
    ctx.error(reader.range, "'pipeline' needs 'over: axis'");
    return;
  }
  std::optional<AxisList> axes = this->axes(*over->value, /*mayBeNone=*/false);
  if (!axes)
    return;
  if (axes->axes.size() != 1) {
    ctx.error(over->range, "a pipeline runs over one axis");
    return;
  }
  rule.over = *axes;
  plan.pipeline = std::move(rule);
}

} // namespace ptlc::sema
