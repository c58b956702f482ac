//===- Plan.cpp - Checks plans --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Dispatches on the name of an entry; reads the mesh, the simple entries and the
// promises. Rules about dimensions, weights and parts are in PlanRules.cpp.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Plan.h"

#include "lang/Sema/Train.h"

#include "llvm/ADT/StringExtras.h"

namespace ptlc::sema {

PlanReader::PlanReader(Context &ctx, FileScope &main, PartInstance &model, PlanSpec &plan)
    : ctx(ctx), main(main), model(model), plan(plan), paths(ctx, frame, model) {
  frame.file = &main;
}

void PlanReader::mesh(const ast::PlanDecl &decl) {
  for (const ast::Bind &bind : decl.axes) {
    Entity size = ctx.number(Evaluator(ctx, frame).evaluate(*bind.value));
    const auto *number = size.as<int64_t>();
    bool twice =
        llvm::any_of(plan.mesh, [&](const MeshAxis &axis) { return axis.name == bind.name.text; });
    if (twice) {
      ctx.error(bind.range, "axis '" + bind.name.text + "' is given twice");
      continue;
    }
    constexpr int64_t kLargestAxis = 1 << 24;
    if (!size.isPoison() && (!number || *number < 1 || *number > kLargestAxis))
      ctx.error(bind.range, "axis '" + bind.name.text +
                                "' must have a whole size of at least 1, is " +
                                (size.isNumber() ? numberText(size) : ctx.describe(size)));
    plan.mesh.push_back({bind.name.str(), number ? *number : 1, bind.range});
  }
}

void PlanReader::cluster(const ast::PlanDecl &decl) {
  if (decl.cluster.empty())
    return;
  const ast::Name &head = decl.cluster.parts.front();
  if (!main.scope.find(head.text)) {
    llvm::SmallVector<llvm::StringRef> candidates;
    main.scope.collect(candidates);
    ctx.error(decl.cluster.range,
              "unknown name '" + head.text + "'" + lang::didYouMean(head.text, candidates));
    return;
  }
  Entity entity = Evaluator(ctx, frame).lookup(decl.cluster);
  const auto *found = entity.as<ClusterEntity>();
  if (!found) {
    if (!entity.isPoison())
      ctx.error(decl.cluster.range, "'" + decl.cluster.str() + "' is not a cluster");
    return;
  }
  for (auto [index, spec] : llvm::enumerate(ctx.program.clusters))
    if (spec.range.file == found->decl->range.file && spec.range.begin == found->decl->range.begin)
      plan.cluster = index;
}

bool PlanReader::once(const ast::CallDirective &directive) {
  for (const ast::CallDirective *other : seen)
    if (other->name.text == directive.name.text) {
      ctx.error(directive.range, "'" + directive.name.text + "' is given twice")
          .note(other->range, "given " + ctx.lineOf(other->range, directive.range));
      return false;
    }
  seen.push_back(&directive);
  return true;
}

void PlanReader::entry(const ast::CallDirective &directive) {
  using Handler = void (PlanReader::*)(EntryReader &);
  struct Row {
    llvm::StringRef name;
    Handler handler;
    bool once;
  };
  static constexpr Row kRows[] = {
      {"shard", &PlanReader::shard, false},
      {"pipeline", &PlanReader::pipeline, true},
      {"microbatches", &PlanReader::microbatches, true},
      {"zero", &PlanReader::zero, false},
      {"precision", &PlanReader::precision, false},
      {"remat", &PlanReader::remat, false},
      {"place", &PlanReader::place, true},
      {"overlap", &PlanReader::overlap, true},
      {"bucket", &PlanReader::bucket, true},
      {"reproducible", &PlanReader::reproducible, true},
  };
  llvm::StringRef name = directive.name.text;
  for (const Row &row : kRows) {
    if (row.name != name)
      continue;
    if (row.once && !once(directive))
      return;
    EntryReader reader(ctx, frame, directive);
    (this->*row.handler)(reader);
    return;
  }
  bool ofTrain = llvm::is_contained(trainEntries(), name);
  ctx.error(directive.range, "a plan has no '" + name + "'" +
                                 (ofTrain ? ("; '" + name + "' belongs in 'train'").str()
                                          : lang::didYouMean(name, planEntries())));
}

std::optional<AxisList> PlanReader::axes(const ast::Expr &expr, bool mayBeNone) {
  AxisList result;
  result.range = expr.range;
  const auto *group = llvm::dyn_cast<ast::GroupExpr>(&expr);
  llvm::SmallVector<const ast::Expr *> words;
  if (group)
    for (const ast::ExprPtr &element : group->elements)
      words.push_back(element.get());
  else
    words.push_back(&expr);
  for (const ast::Expr *word : words) {
    std::string text = ctx.sourceText(*word);
    if (mayBeNone && words.size() == 1 && text == "none")
      return result;
    auto axis = llvm::find_if(plan.mesh, [&](const MeshAxis &other) { return other.name == text; });
    if (axis == plan.mesh.end()) {
      llvm::SmallVector<llvm::StringRef> names;
      for (const MeshAxis &other : plan.mesh)
        names.push_back(other.name);
      Report report = ctx.error(word->range, "the mesh has no axis '" + text + "'" +
                                                 lang::didYouMean(text, names));
      if (!names.empty())
        report.note({}, "its axes are " + llvm::join(names, ", "));
      return std::nullopt;
    }
    unsigned index = axis - plan.mesh.begin();
    if (llvm::is_contained(result.axes, index)) {
      ctx.error(word->range, "axis '" + text + "' is given twice");
      return std::nullopt;
    }
    result.axes.push_back(index);
  }
  return result;
}

std::vector<PathRef> PlanReader::restriction(EntryReader &reader) {
  const ast::Arg *in = reader.named("in");
  return in ? paths.resolveAll(*in->value) : std::vector<PathRef>();
}

void PlanReader::microbatches(EntryReader &reader) {
  reader.accept({}, 1);
  plan.microbatchesRange = reader.range;
  if (const ast::Arg *count = reader.single())
    plan.microbatches = reader.integer(*count, 1).value_or(1);
}

void PlanReader::place(EntryReader &reader) {
  reader.accept({}, SIZE_MAX);
  plan.placeRange = reader.range;
  if (!reader.single())
    return;
  for (const ast::Arg *arg : reader.positional()) {
    std::optional<AxisList> axis = axes(*arg->value, /*mayBeNone=*/false);
    if (!axis)
      return;
    for (unsigned index : axis->axes) {
      if (llvm::is_contained(plan.place, index))
        ctx.error(arg->range, "axis '" + plan.mesh[index].name + "' is given twice");
      plan.place.push_back(index);
    }
  }
}

void PlanReader::overlap(EntryReader &reader) {
  reader.accept({}, 1);
  plan.overlap = true;
  if (!reader.positional().empty())
    plan.overlap = reader.flag(*reader.single());
}

void PlanReader::bucket(EntryReader &reader) {
  reader.accept({}, 1);
  plan.bucketRange = reader.range;
  if (const ast::Arg *size = reader.single())
    plan.bucketBytes = reader.measure(*size->value, Quantity::Bytes);
}

void PlanReader::reproducible(EntryReader &reader) {
  reader.accept({}, 0);
  plan.reproducible = true;
  plan.reproducibleRange = reader.range;
}

static Comparison comparisonOf(ast::BinaryOp op) {
  switch (op) {
  case ast::BinaryOp::Less:
    return Comparison::Lt;
  case ast::BinaryOp::Greater:
    return Comparison::Gt;
  case ast::BinaryOp::GreaterEqual:
    return Comparison::Ge;
  default:
    return Comparison::Le;
  }
}

void PlanReader::promise(const ast::AssertDirective &directive) {
  static constexpr llvm::StringRef kNames[] = {"memory", "traffic", "bubble", "time"};
  llvm::StringRef name = directive.name.text;
  const auto *found = llvm::find(kNames, name);
  if (found == std::end(kNames)) {
    ctx.error(directive.name.range, "a plan can't promise '" + name + "'" +
                                        lang::didYouMean(name, kNames) +
                                        "; there are memory, traffic(axis), bubble, time");
    return;
  }
  Promise result;
  result.what = static_cast<Promise::What>(found - std::begin(kNames));
  result.comparison = comparisonOf(directive.op);
  result.range = directive.range;
  EntryReader reader(ctx, frame, directive);
  bool isTraffic = result.what == Promise::What::Traffic;
  reader.accept({}, isTraffic ? 1 : 0);
  if (isTraffic && !reader.positional().empty())
    if (std::optional<AxisList> axis = axes(*reader.single()->value, /*mayBeNone=*/false)) {
      if (axis->axes.size() == 1)
        result.axis = axis->axes.front();
      else
        ctx.error(axis->range, "'traffic' is promised for one axis");
    }
  std::optional<double> value;
  if (result.what == Promise::What::Bubble) {
    if (const auto *measure = llvm::dyn_cast<ast::MeasureExpr>(directive.bound.get()))
      ctx.error(measure->range, "'bubble' is a fraction without a unit, such as 0.1");
    else if (Entity number = ctx.number(Evaluator(ctx, frame).evaluate(*directive.bound));
             number.isNumber())
      value = number.asDouble();
    else if (!number.isPoison())
      ctx.error(directive.bound->range, "'bubble' is a number, not " + ctx.describe(number));
  } else {
    value = reader.measure(*directive.bound, result.what == Promise::What::Time ? Quantity::Seconds
                                                                                : Quantity::Bytes);
  }
  if (!value)
    return;
  result.value = *value;
  plan.promises.push_back(result);
}

void PlanReader::finish() {
  for (const RematRule &rule : plan.remats) {
    bool promised = llvm::any_of(plan.promises, [](const Promise &promise) {
      return promise.what == Promise::What::Memory;
    });
    if (rule.remat == Remat::Auto && !promised)
      ctx.error(rule.range, "'remat auto' fits the plan's 'assert memory <= …', which is missing");
  }
}

void checkPlans(Context &ctx, FileScope &main, PartInstance &model) {
  for (const ast::PlanDecl *decl : main.plans) {
    PlanSpec plan;
    plan.name = decl->name.str();
    plan.range = decl->range;
    for (const PlanSpec &other : ctx.program.plans)
      if (other.name == plan.name)
        ctx.error(decl->range, "plan '" + plan.name + "' is already declared")
            .note(other.range, "declared " + ctx.lineOf(other.range, decl->range));
    PlanReader reader(ctx, main, model, plan);
    reader.mesh(*decl);
    reader.cluster(*decl);
    for (const ast::DirectivePtr &directive : decl->directives) {
      if (const auto *promise = llvm::dyn_cast<ast::AssertDirective>(directive.get()))
        reader.promise(*promise);
      else
        reader.entry(llvm::cast<ast::CallDirective>(*directive));
    }
    reader.finish();
    checkConflicts(ctx, plan);
    if (!ctx.program.loss.results.empty())
      checkMicrobatches(ctx.program, plan, ctx.diags);
    ctx.program.plans.push_back(std::move(plan));
  }
}

} // namespace ptlc::sema
