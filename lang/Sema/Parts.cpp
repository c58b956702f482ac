//===- Parts.cpp - Instances of modules -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A module is expanded for every part that uses it: its parameters are bound,
// its sizes evaluated, then its weights and parts are made in order. A member in
// error is declared with poison, so that its users don't complain, too.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Parts.h"

#include "lang/Sema/InitialValues.h"

namespace ptlc::sema {

static std::string childPath(const std::string &path, llvm::StringRef name) {
  return path.empty() ? name.str() : path + "." + name.str();
}

static Symbol member(llvm::StringRef name, lang::SourceRange range, Entity value) {
  Symbol symbol;
  symbol.name = name;
  symbol.range = range;
  symbol.value = std::move(value);
  return symbol;
}

PartInstance *PartBuilder::buildModel(const ModuleEntity &model, lang::SourceRange site) {
  Frame frame;
  frame.file = model.file;
  Evaluator caller(ctx, frame);
  Part record;
  record.range = model.decl->range;
  return build(model, {}, caller, std::move(record), site);
}

PartInstance *PartBuilder::build(const ModuleEntity &module, const Arguments &args,
                                 Evaluator &caller, Part record, lang::SourceRange site) {
  constexpr size_t kMostParts = 1 << 16;
  const ast::ModuleDecl &decl = *module.decl;
  if (llvm::is_contained(active, &decl)) {
    ctx.error(site, "module '" + decl.name.text + "' contains itself");
    return nullptr;
  }
  if (ctx.instances.size() >= kMostParts) {
    ctx.error(site, "the model has more than " + llvm::Twine(kMostParts) + " parts");
    return nullptr;
  }
  PartInstance &part = ctx.instances.emplace_back();
  part.id = ctx.program.parts.size();
  part.decl = &decl;
  part.file = module.file;
  record.module = decl.name.str();
  ctx.program.parts.push_back(std::move(record));

  Frame parameters;
  parameters.file = module.file;
  parameters.partId = part.id;
  bool failed = false;
  auto bind = [&](const ast::Param &param, Entity value, const DeclaredType *) {
    const auto *tensor = value.as<Tensor>();
    if (tensor && tensor->value >= ctx.program.weights.size()) {
      ctx.error(site, "'" + param.name.text +
                          "' is computed; a module takes dimensions, numbers, "
                          "parts and weights");
      value = Poison{};
    }
    parameters.locals.push_back({param.name.text, value, param.range, false});
    part.scope.add(member(param.name.text, param.range, std::move(value)));
  };
  failed =
      !caller.bindParameters(decl.params, args, parameters, decl.name.text, site, decl.range, bind);
  for (const ast::Param &param : decl.params)
    if (failed && !part.scope.find(param.name.text))
      part.scope.add(member(param.name.text, param.range, Poison{}));

  Frame frame;
  frame.file = module.file;
  frame.part = &part;
  frame.partId = part.id;
  ctx.trail.push_back(site);
  active.push_back(&decl);
  declareSizesAndFunctions(part);
  buildMembers(part, frame);
  active.pop_back();
  ctx.trail.pop_back();
  return &part;
}

void PartBuilder::declareSizesAndFunctions(PartInstance &part) {
  for (const ast::DeclPtr &item : part.decl->members) {
    if (const auto *sizes = llvm::dyn_cast<ast::SizesDecl>(item.get())) {
      for (const ast::Bind &bind : sizes->binds) {
        Symbol symbol = member(bind.name.text, bind.range, Poison{});
        symbol.state = Symbol::State::Pending;
        symbol.isDim = sizes->isDim;
        symbol.bind = &bind;
        part.scope.add(std::move(symbol));
      }
    } else if (const auto *fn = llvm::dyn_cast<ast::FunctionDecl>(item.get())) {
      part.scope.add(member(fn->name.text, fn->range, FunctionEntity{fn, part.file, &part}));
    }
  }
}

void PartBuilder::buildMembers(PartInstance &part, Frame &frame) {
  for (Symbol &symbol : part.scope.symbols())
    force(ctx, symbol, *part.file, &part);
  for (const ast::DeclPtr &item : part.decl->members) {
    if (const auto *weight = llvm::dyn_cast<ast::WeightDecl>(item.get()))
      buildWeight(part, frame, *weight);
    else if (const auto *inner = llvm::dyn_cast<ast::PartDecl>(item.get()))
      buildPart(part, frame, *inner);
  }
  for (const ast::DeclPtr &item : part.decl->members)
    if (const auto *check = llvm::dyn_cast<ast::AssertDecl>(item.get()))
      Evaluator(ctx, frame).checkAssertion(*check->condition, check->message.get(), check->range);
}

/// Checks that the type of a weight is complete, of floats, and of a size that can be counted.
static bool checkWeightType(Context &ctx, const ast::WeightDecl &decl, const DeclaredType &type) {
  auto fail = [&](const llvm::Twine &text) {
    ctx.error(decl.type->range, text);
    return false;
  };
  if (type.form != DeclaredType::Form::Tensor || type.hasRest)
    return fail("a weight's type lists all its dimensions");
  if (type.type.kind != Kind::Float)
    return fail("weights are float; '" + decl.name.text + "' is " + kindName(type.type.kind));
  if (!ctx.isCountable(type.type))
    return fail("'" + decl.name.text + "' has more than 2^48 elements");
  if (llvm::is_contained(type.type.dims, kBatchDim))
    return fail("'batch' is the dimension of the data; a weight can't have it");
  return true;
}

void PartBuilder::buildWeight(PartInstance &part, Frame &frame, const ast::WeightDecl &decl) {
  Evaluator evaluator(ctx, frame);
  const Part &record = ctx.program.parts[part.id];
  Weight weight;
  weight.path = childPath(record.path, decl.name.text);
  weight.frozen = record.frozen || decl.isFrozen;
  weight.part = part.id;
  weight.range = decl.range;
  std::optional<DeclaredType> type = evaluator.resolve(*decl.type);
  bool ok = type && checkWeightType(ctx, decl, *type);
  if (!decl.init)
    ctx.error(decl.range, "weight '" + decl.name.text +
                              "' has no initial value; add '= normal(0.02)' or '= zeros'");
  else if (std::optional<InitialValue> init = evaluateInitialValue(evaluator, *decl.init))
    weight.init = *init;
  Entity value;
  if (ok) {
    weight.type = type->type;
    weight.advice = std::move(type->advice);
    value = Tensor{static_cast<ValueId>(ctx.program.weights.size())};
    ctx.program.weights.push_back(std::move(weight));
  }
  part.scope.add(member(decl.name.text, decl.range, std::move(value)));
}

void PartBuilder::buildPart(PartInstance &part, Frame &frame, const ast::PartDecl &decl) {
  llvm::StringRef name = decl.name.text;
  std::string path = childPath(ctx.program.parts[part.id].path, name);
  const auto *call = llvm::dyn_cast<ast::CallExpr>(decl.value.get());
  Entity value;
  if (!call) {
    ctx.error(decl.value->range, "'" + name +
                                     "' must be a part such as 'MLP()'; a number is "
                                     "'const " +
                                     name + " = …'");
  } else if (!decl.repeat) {
    if (PartInstance *inner = buildOne(part, frame, decl, *call, path))
      value = PartEntity{inner};
  } else {
    Evaluator evaluator(ctx, frame);
    Entity count = evaluator.evaluate(*decl.repeat->count);
    std::optional<RangeEntity> range = evaluator.walked(count, decl.repeat->count->range, "repeat");
    std::vector<PartInstance *> parts;
    PartStack stack{path, {}, decl.range};
    for (int64_t i = range ? range->first : 0; range && i < range->last; ++i) {
      frame.locals.push_back({decl.repeat->variable.text, i, decl.repeat->range, false});
      PartInstance *inner =
          buildOne(part, frame, decl, *call, path + "." + std::to_string(i - range->first));
      frame.locals.pop_back();
      if (!inner) {
        range.reset();
        break;
      }
      parts.push_back(inner);
      stack.parts.push_back(inner->id);
    }
    if (range) {
      value = Entity::stack(std::move(parts));
      ctx.program.stacks.push_back(std::move(stack));
    }
  }
  part.scope.add(member(name, decl.range, std::move(value)));
}

PartInstance *PartBuilder::buildOne(PartInstance &owner, Frame &frame, const ast::PartDecl &decl,
                                    const ast::CallExpr &call, std::string path) {
  Evaluator evaluator(ctx, frame);
  const auto *ref = llvm::dyn_cast<ast::RefExpr>(call.callee.get());
  std::string callee = ctx.sourceText(*call.callee);
  bool isFunction = ref && evaluator.isBuiltin(ref->name.text);
  Entity entity = isFunction ? Entity() : evaluator.evaluate(*call.callee);
  const auto *module = entity.as<ModuleEntity>();
  if (!module) {
    if (isFunction || !entity.isPoison())
      ctx.error(call.range, "'" + callee + "' is not a module");
    return nullptr;
  }
  Part record;
  record.path = std::move(path);
  record.parent = owner.id;
  record.frozen = ctx.program.parts[owner.id].frozen || decl.isFrozen;
  record.range = decl.range;
  Arguments args = evaluator.arguments(call.args);
  return build(*module, args, evaluator, std::move(record), call.range);
}

} // namespace ptlc::sema
