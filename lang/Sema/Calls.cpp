//===- Calls.cpp - Functions, parts and stacks ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A call is expanded at once: its statements are run in a new frame with the
// arguments as locals. A stack sends its first argument through all parts and
// gives the others to each.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Builtins.h"

#include "llvm/Support/SaveAndRestore.h"

namespace ptlc::sema {

Entity Evaluator::call(const ast::CallExpr &expr) {
  if (const auto *ref = llvm::dyn_cast<ast::RefExpr>(expr.callee.get()))
    if (!isVisible(ref->name.text))
      return callBuiltin(ref->name.text, expr);
  Entity callee = evaluate(*expr.callee);
  Arguments args = arguments(expr.args);
  if (callee.isPoison())
    return Poison{};
  if (const auto *function = callee.as<FunctionEntity>())
    return expand(*function, args, expr.range);
  if (const auto *part = callee.as<PartEntity>())
    return forward(*part->part, args, expr.range);
  if (const auto *stack = callee.as<StackEntity>())
    return callStack(*stack, args, expr.range);
  std::string text = ctx.sourceText(*expr.callee);
  if (callee.is<ModuleEntity>())
    return ctx.error(expr.range, "'" + text + "' is a module; make a part of it first: 'name = " +
                                     ctx.sourceText(expr) + "'");
  return ctx.error(expr.range, "'" + text + "' is " + ctx.describe(callee) + ", not a function");
}

bool Evaluator::isVisible(llvm::StringRef name) {
  return frame.findLocal(name) || (frame.part && frame.part->scope.find(name)) || name == "batch" ||
         frame.file->scope.find(name);
}

bool Evaluator::isBuiltin(llvm::StringRef name) { return !isVisible(name) && findBuiltin(name); }

Entity Evaluator::callBuiltin(llvm::StringRef name, const ast::CallExpr &expr) {
  Arguments args = arguments(expr.args);
  const Builtin *builtin = findBuiltin(name);
  if (!builtin)
    return Poison{}; // an unknown name, reported by the static check
  BuiltinCall call(*this, name, expr);
  for (const Argument &arg : args) {
    if (!arg.arrow && arg.value.isPoison())
      return Poison{};
    if (!arg.isPositional() && !llvm::is_contained(builtin->labels, arg.label))
      return ctx.error(arg.range, "'" + name + "' has no parameter '" + arg.label + "'" +
                                      lang::didYouMean(arg.label, builtin->labels));
    if (call.find(arg.label) && !arg.isPositional())
      return ctx.error(arg.range, "'" + arg.label + "' is given twice");
    (arg.isPositional() ? call.positional : call.named).push_back(&arg);
  }
  return builtin->expand(call);
}

/// Reports a function that would be expanded without end.
static bool reportRecursion(Context &ctx, const FunctionEntity &function, lang::SourceRange site) {
  // Functions of a file may lead back to themselves through another part, so they get some depth.
  unsigned deepest = function.part ? 1 : 64, depth = 0;
  for (const FunctionEntity &active : ctx.active)
    depth += active.decl == function.decl && active.part == function.part;
  bool callsItself = !ctx.active.empty() && ctx.active.back().decl == function.decl &&
                     ctx.active.back().part == function.part;
  if (depth < deepest && !callsItself)
    return false;
  ctx.error(site, "function '" + function.decl->name.text +
                      "' calls itself; calls are expanded when the program is compiled");
  return true;
}

Entity Evaluator::expand(const FunctionEntity &function, const Arguments &args,
                         lang::SourceRange site) {
  if (!ctx.spend(site) || reportRecursion(ctx, function, site))
    return Poison{};
  const ast::FunctionDecl &decl = *function.decl;
  Frame callee;
  callee.file = function.file;
  callee.part = function.part;
  callee.function = &decl;
  callee.partId = function.part ? function.part->id : frame.partId;
  llvm::SaveAndRestore<CallId> outer(ctx.currentCall);
  if (ctx.graph) {
    Call record;
    record.parent = ctx.graph->calls.empty() ? kNone : ctx.currentCall;
    record.function = decl.name.str();
    record.module = function.part ? function.part->decl->name.str() : "";
    record.part = callee.partId;
    record.range = site;
    record.definition = decl.range;
    ctx.currentCall = callee.call = ctx.graph->calls.size();
    ctx.graph->calls.push_back(std::move(record));
  }
  Evaluator inner(ctx, callee);
  auto bind = [&](const ast::Param &param, Entity value, const DeclaredType *type) {
    if (const auto *tensor = value.as<Tensor>(); tensor && ctx.graph)
      ctx.graph->calls[callee.call].arguments.push_back(tensor->value);
    inner.recordName(param.name.text, value, type ? type->advice : std::vector<Advice>(),
                     param.range);
    callee.locals.push_back({param.name.text, std::move(value), param.range, false});
  };
  if (!bindParameters(decl.params, args, callee, decl.name.text, site, decl.range, bind))
    return Poison{};
  ctx.trail.push_back(site);
  ctx.active.push_back(function);
  Entity result = inner.body(function);
  ctx.active.pop_back();
  ctx.trail.pop_back();
  return result;
}

Entity Evaluator::body(const FunctionEntity &function) {
  const ast::FunctionDecl &decl = *function.decl;
  Entity value;
  if (decl.value)
    value = evaluate(*decl.value);
  else if (std::optional<Entity> result = run(decl.body))
    value = std::move(*result);
  value = returned(function, std::move(value));
  if (!ctx.graph)
    return value;
  Call &record = ctx.graph->calls[frame.call];
  if (const auto *tensor = value.as<Tensor>())
    record.results.push_back(tensor->value);
  if (const auto *tuple = value.as<TupleEntity>())
    for (const Entity &element : *tuple->elements)
      if (const auto *tensor = element.as<Tensor>())
        record.results.push_back(tensor->value);
  return value;
}

Entity Evaluator::returned(const FunctionEntity &function, Entity value) {
  const ast::FunctionDecl &decl = *function.decl;
  if (decl.results.empty())
    return value;
  std::string who = "the result of '" + decl.name.str() + "'";
  if (!decl.resultsGrouped) {
    std::optional<DeclaredType> type = resolve(*decl.results.front());
    return type ? result(value, *type, decl.results.front()->range, who) : Poison{};
  }
  const auto *tuple = value.as<TupleEntity>();
  size_t count = tuple ? tuple->elements->size() : 1;
  if (value.isPoison())
    return Poison{};
  if (count != decl.results.size())
    return ctx.error(decl.results.front()->range, "'" + decl.name.text + "' must return " +
                                                      llvm::Twine(decl.results.size()) +
                                                      " values, returns " + llvm::Twine(count));
  std::vector<Entity> elements;
  for (size_t i = 0; i < count; ++i) {
    std::optional<DeclaredType> type = resolve(*decl.results[i]);
    const Entity &element = tuple ? (*tuple->elements)[i] : value;
    elements.push_back(
        type ? result(element, *type, decl.results[i]->range,
                      "result " + std::to_string(i + 1) + " of '" + decl.name.str() + "'")
             : Poison{});
  }
  return tuple ? Entity::tuple(std::move(elements)) : elements.front();
}

Entity Evaluator::result(const Entity &value, const DeclaredType &type, lang::SourceRange range,
                         const llvm::Twine &who) {
  Entity conformed = conform(value, type, range, who);
  if (!type.advice.empty())
    recordName("", conformed, type.advice, range);
  return conformed;
}

Entity Evaluator::forward(PartInstance &part, const Arguments &args, lang::SourceRange site) {
  Symbol *symbol = part.scope.find("forward");
  const auto *function = symbol ? symbol->value.as<FunctionEntity>() : nullptr;
  if (!function)
    return ctx.error(site, "module '" + part.decl->name.text +
                               "' has no 'fn forward', so its parts can't be called");
  return expand(*function, args, site);
}

/// Whether both are of one type, up to the order of names.
static bool sameType(const Context &ctx, const Entity &a, const Entity &b) {
  const auto *first = a.as<Tensor>(), *second = b.as<Tensor>();
  if (!first || !second)
    return false;
  const Type &left = ctx.type(*first), &right = ctx.type(*second);
  return left.kind == right.kind && left.dims.size() == right.dims.size() &&
         llvm::all_of(left.dims, [&](DimId dim) { return right.has(dim); });
}

Entity Evaluator::callStack(const StackEntity &stack, const Arguments &args,
                            lang::SourceRange site) {
  if (args.empty())
    return ctx.error(site, "a stack is called with the value that it transforms");
  Arguments each = args;
  for (PartInstance *part : *stack.parts) {
    Entity result = forward(*part, each, site);
    if (result.isPoison() || each.front().value.isPoison())
      return Poison{};
    if (!sameType(ctx, each.front().value, result)) {
      llvm::StringRef article = "a tensor ";
      std::string taken = ctx.describe(each.front().value);
      if (llvm::StringRef(taken).starts_with(article))
        taken.erase(0, article.size());
      return ctx.error(site, "a stack needs parts that return what they take: " + taken +
                                 " becomes " + ctx.describe(result) + "; walk it with 'for'");
    }
    each.front().value = result;
  }
  return each.front().value;
}

} // namespace ptlc::sema
