//===- Parameters.cpp - Arguments meet parameters -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Arguments come by place or name, for modules and functions alike; defaults
// may use the parameters before them.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Evaluator.h"

namespace ptlc::sema {

Arguments Evaluator::arguments(llvm::ArrayRef<ast::Arg> args) {
  Arguments result;
  for (const ast::Arg &arg : args) {
    Argument argument;
    argument.syntax = &arg;
    argument.range = arg.range;
    if (!arg.label.empty())
      argument.label = ctx.sources.text(arg.label.range);
    if (const auto *arrow = llvm::dyn_cast<ast::ArrowExpr>(arg.value.get())) {
      std::optional<DimList> from = dims(evaluate(*arrow->from), arrow->from->range);
      std::optional<DimList> to = dims(evaluate(*arrow->to), arrow->to->range);
      if (from && to)
        argument.arrow = Arrow{*from, *to};
    } else {
      argument.value = evaluate(*arg.value);
    }
    result.push_back(std::move(argument));
  }
  return result;
}

std::optional<DimList> Evaluator::dims(const Entity &value, lang::SourceRange range) {
  if (value.isPoison())
    return std::nullopt;
  std::vector<Entity> single{value};
  const auto *tuple = value.as<TupleEntity>();
  DimList result;
  for (const Entity &entity : tuple ? *tuple->elements : single) {
    const auto *dim = entity.as<DimEntity>();
    if (!dim) {
      ctx.error(range, "expected a dimension, found " + ctx.describe(entity));
      return std::nullopt;
    }
    result.push_back(dim->id);
  }
  return result;
}

namespace {
/// Which argument each parameter gets; null where none is given.
using Assignment = llvm::SmallVector<const Argument *, 8>;
} // namespace

static std::optional<Assignment> assignArguments(Context &ctx, llvm::ArrayRef<ast::Param> params,
                                                 const Arguments &args, llvm::StringRef name) {
  Assignment given(params.size(), nullptr);
  llvm::SmallVector<llvm::StringRef> names;
  for (const ast::Param &param : params)
    names.push_back(param.name.text);
  size_t place = 0;
  for (const Argument &arg : args) {
    size_t index = arg.isPositional() ? place++ : llvm::find(names, arg.label) - names.begin();
    if (index >= params.size()) {
      if (arg.isPositional())
        ctx.error(arg.range, "'" + name + "' takes " + llvm::Twine(params.size()) + " argument" +
                                 (params.size() == 1 ? "" : "s") + ", got " +
                                 llvm::Twine(args.size()));
      else
        ctx.error(arg.range, "'" + name + "' has no parameter '" + arg.label + "'" +
                                 lang::didYouMean(arg.label, names));
      return std::nullopt;
    }
    if (given[index]) {
      ctx.error(arg.range, "'" + names[index] + "' is given twice");
      return std::nullopt;
    }
    given[index] = &arg;
  }
  return given;
}

bool Evaluator::bindParameters(llvm::ArrayRef<ast::Param> params, const Arguments &args,
                               Frame &callee, llvm::StringRef name, lang::SourceRange site,
                               lang::SourceRange declaration, BindFunction bind) {
  std::optional<Assignment> given = assignArguments(ctx, params, args, name);
  if (!given)
    return false;
  Evaluator inner(ctx, callee);
  for (auto [param, argument] : llvm::zip(params, *given)) {
    Entity value;
    if (argument && argument->syntax && llvm::isa<ast::ArrowExpr>(argument->syntax->value.get())) {
      ctx.error(argument->range, "'->' can't stand here");
      return false;
    }
    if (argument)
      value = argument->value;
    else if (param.defaultValue)
      value = inner.evaluate(*param.defaultValue);
    else {
      ctx.error(site, "'" + name + "' needs '" + param.name.text + "'")
          .note(param.range, "declared " + ctx.lineOf(param.range, declaration));
      return false;
    }
    std::optional<DeclaredType> type;
    if (param.type) {
      type = inner.resolve(*param.type);
      lang::SourceRange place = argument ? argument->range : param.range;
      value = type ? inner.conform(value, *type, place, "'" + param.name.text + "'") : Poison{};
    }
    bind(param, std::move(value), type ? &*type : nullptr);
  }
  return true;
}

} // namespace ptlc::sema
