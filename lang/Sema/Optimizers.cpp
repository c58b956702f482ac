//===- Optimizers.cpp - optimizer and schedule ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Arguments and defaults are PyTorch's; the learning rate must be given. With
// several optimizers, each weight belongs to the one whose `in:` names it with
// the longest path.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Paths.h"
#include "lang/Sema/Train.h"

namespace ptlc::sema {

namespace {
struct OptimizerRow {
  llvm::StringRef name;
  OptimizerKind kind;
  llvm::SmallVector<llvm::StringRef, 9> labels;
};
/// An optimizer with the paths of its `in:`.
struct Candidate {
  OptimizerSpec spec;
  std::vector<PathRef> paths;
  bool isDefault = true; ///< without `in:`
};
} // namespace

static llvm::ArrayRef<OptimizerRow> optimizerRows() {
  static const OptimizerRow rows[] = {
      {"adamw", OptimizerKind::AdamW, {"lr", "betas", "eps", "weight_decay", "in"}},
      {"sgd",
       OptimizerKind::Sgd,
       {"lr", "momentum", "dampening", "weight_decay", "nesterov", "in"}},
      {"lion", OptimizerKind::Lion, {"lr", "betas", "weight_decay", "in"}},
      {"muon",
       OptimizerKind::Muon,
       {"lr", "momentum", "nesterov", "weight_decay", "ns_steps", "ns_coefficients", "eps",
        "adjust_lr", "in"}},
      {"lamb", OptimizerKind::Lamb, {"lr", "betas", "eps", "weight_decay", "in"}},
  };
  return rows;
}

/// Reads a tuple of as many numbers as `numbers` has, each of which `isGood`; else reports
/// `message`.
static void readNumbers(EntryReader &call, llvm::StringRef label,
                        llvm::MutableArrayRef<double> numbers,
                        llvm::function_ref<bool(double)> isGood, llvm::StringRef message) {
  const ast::Arg *arg = call.named(label);
  Entity value = arg ? call.evaluator.evaluate(*arg->value) : Entity();
  if (value.isPoison())
    return;
  const auto *tuple = value.as<TupleEntity>();
  bool ok = tuple && tuple->elements->size() == numbers.size();
  llvm::SmallVector<double> found;
  for (size_t i = 0; ok && i < numbers.size(); ++i) {
    const Entity &element = (*tuple->elements)[i];
    found.push_back(element.asDouble());
    ok = (element.is<double>() || element.is<int64_t>()) && isGood(found.back());
  }
  if (ok)
    llvm::copy(found, numbers.begin());
  else
    call.ctx.error(arg->range, message);
}

/// Reads `betas: (a, b)`.
static void readBetas(EntryReader &call, OptimizerSpec &spec) {
  double betas[2] = {spec.beta1, spec.beta2};
  readNumbers(
      call, "betas", betas, [](double beta) { return beta >= 0 && beta < 1; },
      "'betas' are two numbers of at least 0 and below 1, such as (0.9, 0.999)");
  spec.beta1 = betas[0];
  spec.beta2 = betas[1];
}

/// Reads what only Muon has.
static void readMuon(EntryReader &call, OptimizerSpec &spec) {
  static constexpr int64_t kMostSteps = 99;
  static constexpr llvm::StringRef kRules[] = {"original", "match_rms_adamw"};
  if (const ast::Arg *steps = call.named("ns_steps")) {
    spec.nsSteps = call.integer(*steps, 0).value_or(spec.nsSteps);
    if (spec.nsSteps > kMostSteps)
      call.ctx.error(steps->range, "'ns_steps' is at most " + llvm::Twine(kMostSteps) + ", found " +
                                       llvm::Twine(spec.nsSteps));
  }
  readNumbers(
      call, "ns_coefficients", spec.polynomial, [](double) { return true; },
      "'ns_coefficients' are three numbers, such as (3.4445, -4.7750, 2.0315)");
  if (const ast::Arg *rule = call.named("adjust_lr"))
    if (std::optional<unsigned> word = call.word(*rule, kRules))
      spec.adjustLr = kRules[*word];
}

static OptimizerSpec defaults(OptimizerKind kind) {
  OptimizerSpec spec;
  spec.kind = kind;
  if (kind == OptimizerKind::AdamW)
    spec.weightDecay = 0.01;
  if (kind == OptimizerKind::Lion)
    spec.beta2 = 0.99;
  if (kind == OptimizerKind::Lamb) {
    spec.eps = 1e-6;
    spec.weightDecay = 0.01;
  }
  if (kind == OptimizerKind::Muon) {
    spec.momentum = 0.95;
    spec.nesterov = true;
    spec.eps = 1e-7;
    spec.weightDecay = 0.1;
  }
  return spec;
}

static void checkSgd(EntryReader &call, const OptimizerSpec &spec) {
  if (spec.kind == OptimizerKind::Sgd && spec.nesterov &&
      (spec.momentum <= 0 || spec.dampening != 0))
    call.ctx.error(call.range, "'nesterov' needs a momentum and no dampening");
}

static std::optional<Candidate> readOptimizer(EntryReader &entry, const ast::Arg &arg, Frame &frame,
                                              PartInstance *model) {
  llvm::SmallVector<llvm::StringRef> names;
  for (const OptimizerRow &row : optimizerRows())
    names.push_back(row.name);
  std::optional<unsigned> place = entry.word(arg, names);
  if (!place)
    return std::nullopt;
  const OptimizerRow &row = optimizerRows()[*place];
  const auto *expr = llvm::dyn_cast<ast::CallExpr>(arg.value.get());
  if (!expr) {
    entry.ctx.error(arg.range, "'" + row.name + "' needs 'lr:'");
    return std::nullopt;
  }
  EntryReader call(entry.ctx, frame, row.name, *expr);
  call.accept(row.labels, 0);
  Candidate candidate;
  OptimizerSpec &spec = candidate.spec;
  spec = defaults(row.kind);
  spec.range = arg.range;
  call.required("lr");
  call.assign("lr", spec.lr, &EntryReader::notNegative);
  call.assign("eps", spec.eps, &EntryReader::notNegative);
  call.assign("weight_decay", spec.weightDecay, &EntryReader::notNegative);
  call.assign("momentum", spec.momentum, &EntryReader::notNegative);
  call.assign("dampening", spec.dampening, &EntryReader::real);
  readBetas(call, spec);
  if (const ast::Arg *nesterov = call.named("nesterov"))
    spec.nesterov = call.flag(*nesterov).value_or(false);
  checkSgd(call, spec);
  readMuon(call, spec);
  if (const ast::Arg *in = call.named("in")) {
    candidate.isDefault = false;
    if (model)
      candidate.paths = PathResolver(entry.ctx, frame, *model).resolveAll(*in->value);
  }
  for (const PathRef &path : candidate.paths)
    if (path.target == PathRef::Target::Value)
      entry.ctx.error(path.range, "'" + path.text + "' is no weight");
  return candidate;
}

/// Reports a weight that Muon can't update.
static bool checkMatrix(Context &ctx, const Weight &weight, const OptimizerSpec &spec) {
  size_t rank = weight.type.dims.size();
  if (rank == 2)
    return true;
  ctx.error(spec.range, "'muon' updates matrices, but '" + weight.path + "' has " +
                            llvm::Twine(rank) + (rank == 1 ? " dimension" : " dimensions") +
                            "; name the matrices by 'in:' and give the rest to another optimizer, "
                            "such as 'adamw(lr: 1e-3), muon(lr: 1e-3, in: blocks.w)'")
      .note(weight.range, "the weight is declared " + ctx.lineOf(weight.range, spec.range));
  return false;
}

/// Gives each trained weight to the optimizer with the strongest claim.
static void distribute(Context &ctx, std::vector<Candidate> &candidates, lang::SourceRange range) {
  size_t count = ctx.program.weights.size();
  std::vector<int> owner(count, -1), strength(count, -1);
  for (auto [index, candidate] : llvm::enumerate(candidates)) {
    std::vector<int> claims(count, candidate.isDefault ? 0 : -1);
    for (const PathRef &path : candidate.paths)
      for (uint32_t weight : path.weights)
        claims[weight] = std::max<int>(claims[weight], path.strength);
    for (size_t weight = 0; weight < count; ++weight) {
      if (claims[weight] < 0 || claims[weight] < strength[weight])
        continue;
      if (claims[weight] == strength[weight]) {
        const OptimizerSpec &other = candidates[owner[weight]].spec;
        ctx.error(candidate.spec.range, "two optimizers of equal strength claim '" +
                                            ctx.program.weights[weight].path + "'")
            .note(other.range, "the other is " + ctx.lineOf(other.range, candidate.spec.range));
        return;
      }
      owner[weight] = index;
      strength[weight] = claims[weight];
    }
  }
  bool anyTrained = false;
  for (auto [index, weight] : llvm::enumerate(ctx.program.weights)) {
    if (weight.frozen)
      continue;
    anyTrained = true;
    if (owner[index] < 0) {
      ctx.error(range,
                "no optimizer trains '" + weight.path + "'; one without 'in:' takes the rest")
          .note(weight.range, "the weight is declared " + ctx.lineOf(weight.range, range));
      return;
    }
    OptimizerSpec &spec = candidates[owner[index]].spec;
    spec.weights.push_back(index);
    if (spec.kind == OptimizerKind::Muon && !checkMatrix(ctx, weight, spec))
      return;
  }
  if (!anyTrained && !ctx.diags.hasErrors())
    ctx.error(range, count == 0 ? "the model has no weights to train"
                                : "all weights are frozen; there is nothing to train");
}

std::vector<OptimizerSpec> readOptimizers(EntryReader &entry, PartInstance *model) {
  entry.accept({}, SIZE_MAX);
  std::vector<Candidate> candidates;
  bool failed = !entry.single();
  for (const ast::Arg *arg : entry.positional()) {
    std::optional<Candidate> candidate = readOptimizer(entry, *arg, entry.evaluator.where(), model);
    failed |= !candidate;
    if (candidate)
      candidates.push_back(std::move(*candidate));
  }
  if (model && !failed)
    distribute(entry.ctx, candidates, entry.range);
  std::vector<OptimizerSpec> specs;
  for (Candidate &candidate : candidates)
    specs.push_back(std::move(candidate.spec));
  return specs;
}

/// Reads `steps(at: (a, b), factor: 0.1)`.
static void readSteps(EntryReader &call, ScheduleSpec &schedule) {
  call.accept({"at", "factor"}, 0);
  if (const ast::Arg *factor = call.required("factor"))
    schedule.factor = call.positive(*factor).value_or(1);
  const ast::Arg *at = call.required("at");
  Entity value = at ? call.ctx.number(call.evaluator.evaluate(*at->value)) : Entity();
  if (value.isPoison())
    return;
  std::vector<Entity> single{value};
  const auto *tuple = value.as<TupleEntity>();
  for (const Entity &element : tuple ? *tuple->elements : single) {
    Entity number = call.ctx.number(element);
    const auto *step = number.as<int64_t>();
    bool ascends = step && *step >= 0 && (schedule.at.empty() || schedule.at.back() < *step);
    if (!ascends) {
      call.ctx.error(at->range, "'at' is a step or a list of steps, ascending");
      return;
    }
    schedule.at.push_back(*step);
  }
}

ScheduleSpec readSchedule(EntryReader &entry, int64_t steps) {
  static constexpr llvm::StringRef kNames[] = {"constant", "warmup_cosine", "warmup_linear",
                                               "steps"};
  ScheduleSpec schedule;
  schedule.range = entry.range;
  schedule.total = steps;
  entry.accept({}, 1);
  const ast::Arg *arg = entry.single();
  std::optional<unsigned> word = arg ? entry.word(*arg, kNames) : std::nullopt;
  if (!word)
    return schedule;
  schedule.kind = static_cast<ScheduleKind>(*word);
  const auto *expr = llvm::dyn_cast<ast::CallExpr>(arg->value.get());
  if (schedule.kind == ScheduleKind::Constant) {
    if (expr && !expr->args.empty())
      entry.ctx.error(expr->range, "'constant' takes no arguments");
    return schedule;
  }
  if (!expr) {
    entry.ctx.error(arg->range, "'" + kNames[*word] + "' needs arguments");
    return schedule;
  }
  EntryReader call(entry.ctx, entry.evaluator.where(), kNames[*word], *expr);
  if (schedule.kind == ScheduleKind::Steps) {
    readSteps(call, schedule);
    return schedule;
  }
  call.accept({"warmup", "total", "min_lr"}, 0);
  if (const ast::Arg *warmup = call.named("warmup"))
    schedule.warmup = call.integer(*warmup, 0).value_or(0);
  if (const ast::Arg *total = call.named("total"))
    schedule.total = call.integer(*total, 1).value_or(steps);
  call.assign("min_lr", schedule.minLr, &EntryReader::notNegative);
  if (schedule.warmup > schedule.total && schedule.total > 0 && call.named("total"))
    call.ctx.error(call.range, "the warm-up of " + llvm::Twine(schedule.warmup) +
                                   " steps is longer than the total of " +
                                   llvm::Twine(schedule.total));
  return schedule;
}

} // namespace ptlc::sema
