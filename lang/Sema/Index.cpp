//===- Index.cpp - t[d: i] and stacks' parts ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A tensor is indexed by dimension, never by place. A number takes a dimension
// away; an int tensor puts its own names there, and names that both have are
// aligned: a gather for each example.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Evaluator.h"

namespace ptlc::sema {

Entity Evaluator::index(const ast::IndexExpr &expr) {
  Entity base = evaluate(*expr.base);
  Arguments args = arguments(expr.args);
  if (base.isPoison())
    return Poison{};
  if (const auto *stack = base.as<StackEntity>())
    return indexStack(*stack, args, expr.range);
  if (!base.is<Tensor>())
    return ctx.error(expr.range, ctx.describe(base) + " can't be indexed");
  if (args.empty())
    return ctx.error(expr.range, "expected a dimension and an index, as in 't[d: i]'");
  Tensor current = *base.as<Tensor>();
  for (const Argument &arg : args) {
    Entity next = indexOne(current, arg, expr);
    const auto *tensor = next.as<Tensor>();
    if (!tensor)
      return Poison{};
    current = *tensor;
  }
  return current;
}

Entity Evaluator::indexOne(Tensor base, const Argument &arg, const ast::IndexExpr &expr) {
  Type type = ctx.type(base);
  if (arg.isPositional()) {
    if (!arg.arrow && arg.value.isPoison())
      return Poison{};
    llvm::StringRef first = type.dims.empty() ? "dim" : ctx.dimName(type.dims.front());
    return ctx.error(arg.range, "say which dimension is indexed: '" + ctx.sourceText(*expr.base) +
                                    "[" + first + ": " + ctx.sourceText(*arg.syntax->value) + "]'");
  }
  Entity named = lookup(arg.syntax->label);
  if (named.isPoison() || (!arg.arrow && arg.value.isPoison()))
    return Poison{};
  const auto *dim = named.as<DimEntity>();
  if (!dim)
    return ctx.error(arg.range,
                     "'" + arg.label + "' is not a dimension but " + ctx.describe(named));
  if (!type.has(dim->id)) {
    llvm::SmallVector<llvm::StringRef> candidates;
    for (DimId other : type.dims)
      candidates.push_back(ctx.dimName(other));
    return ctx.error(arg.range, ctx.typeName(type) + " has no '" + arg.label + "'" +
                                    lang::didYouMean(arg.label, candidates));
  }
  Entity index = ctx.number(arg.value);
  if (index.is<RangeEntity>())
    return ctx.error(arg.range, "a part of '" + arg.label +
                                    "' is another dimension: use slice(x, " + arg.label +
                                    " -> part, from: …)");
  if (const auto *place = index.as<int64_t>())
    return indexNumber(base, dim->id, *place, arg, expr.range);
  const auto *indices = index.as<Tensor>();
  if (indices && ctx.type(*indices).kind == Kind::Int)
    return gather(base, dim->id, *indices, expr.range);
  std::string found = arg.arrow ? "'->'" : ctx.describe(index);
  return ctx.error(arg.range, "an index is a whole number or an int tensor, this is " + found);
}

Entity Evaluator::indexNumber(Tensor base, DimId dim, int64_t index, const Argument &arg,
                              lang::SourceRange site) {
  int64_t size = ctx.size(dim);
  if (size > 0 && (index < 0 || index >= size))
    return ctx.error(arg.range, "'" + arg.label + "' goes from 0 to " + llvm::Twine(size - 1) +
                                    ", not " + llvm::Twine(index));
  Type result = ctx.type(base);
  result.dims.erase(llvm::find(result.dims, dim));
  return Tensor{
      ctx.emit(Op::IndexNumber, {base.value}, std::move(result), IndexAttrs{dim, index}, site)};
}

Entity Evaluator::gather(Tensor base, DimId dim, Tensor indices, lang::SourceRange site) {
  Type from = ctx.type(base), index = ctx.type(indices);
  Type result{from.kind, {}};
  for (DimId other : from.dims) {
    if (other != dim) {
      result.dims.push_back(other);
      continue;
    }
    for (DimId name : index.dims)
      if (name == dim || !from.has(name))
        result.dims.push_back(name);
  }
  return Tensor{
      ctx.emit(Op::Gather, {base.value, indices.value}, std::move(result), DimsAttrs{{dim}}, site)};
}

Entity Evaluator::indexStack(const StackEntity &stack, const Arguments &args,
                             lang::SourceRange range) {
  if (args.size() != 1 || !args.front().isPositional() || args.front().arrow)
    return ctx.error(range, "a stack is indexed by one number");
  Entity index = ctx.number(args.front().value);
  if (index.isPoison())
    return Poison{};
  int64_t count = stack.parts->size();
  auto outside = [&](int64_t place) {
    return ctx.error(range, "the stack has parts 0 to " + llvm::Twine(count - 1) + ", not " +
                                llvm::Twine(place));
  };
  if (const auto *place = index.as<int64_t>()) {
    if (*place < 0 || *place >= count)
      return outside(*place);
    return PartEntity{(*stack.parts)[*place]};
  }
  const auto *some = index.as<RangeEntity>();
  if (!some)
    return ctx.error(range,
                     "a stack is indexed by a number or a range, this is " + ctx.describe(index));
  if (some->first < 0 || some->first > some->last)
    return outside(some->first);
  if (some->last > count)
    return outside(some->last - 1);
  return Entity::stack({stack.parts->begin() + some->first, stack.parts->begin() + some->last});
}

} // namespace ptlc::sema
