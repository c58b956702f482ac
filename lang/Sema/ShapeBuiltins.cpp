//===- ShapeBuiltins.cpp - Functions that change names and sizes ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A changed size is a new dimension, always named by an arrow or an argument,
// whose size must agree.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Builtins.h"

namespace ptlc::sema {

/// The product of sizes; the largest int when it doesn't fit.
static int64_t product(const Context &ctx, llvm::ArrayRef<DimId> dims) {
  int64_t result = 1;
  for (DimId dim : dims)
    if (__builtin_mul_overflow(result, ctx.size(dim), &result))
      return INT64_MAX;
  return result;
}

/// "heads * seq".
static std::string names(const Context &ctx, llvm::ArrayRef<DimId> dims, llvm::StringRef sign) {
  std::string text;
  for (DimId dim : dims)
    text += (text.empty() ? "" : (" " + sign + " ").str()) + ctx.dimName(dim).str();
  return text;
}

/// "heads * seq = 2 * 4 = 8", "embed = 6".
static std::string equation(const Context &ctx, llvm::ArrayRef<DimId> dims, int64_t total) {
  std::string sizes;
  for (DimId dim : dims)
    sizes += std::to_string(ctx.size(dim)) + (dim == dims.back() ? " = " : " * ");
  return names(ctx, dims, "*") + " = " + (dims.size() > 1 ? sizes : "") + std::to_string(total);
}

/// Whether the sizes are all known: that of the batch may not be.
static bool known(const Context &ctx, llvm::ArrayRef<DimId> dims) {
  return llvm::all_of(dims, [&](DimId dim) { return ctx.size(dim) > 0; });
}

static bool hasRepetition(llvm::ArrayRef<DimId> dims) {
  for (size_t i = 0; i < dims.size(); ++i)
    if (llvm::is_contained(dims.take_front(i), dims[i]))
      return true;
  return false;
}

/// Checks one arrow of a reshape against the type so far; reports and returns false.
static bool checkArrow(BuiltinCall &call, const Type &type, const Arrow &arrow,
                       lang::SourceRange range) {
  Context &ctx = call.ctx;
  for (DimId dim : arrow.from)
    if (!type.has(dim)) {
      llvm::SmallVector<llvm::StringRef> candidates;
      for (DimId other : type.dims)
        candidates.push_back(ctx.dimName(other));
      ctx.error(range, ctx.typeName(type) + " has no '" + ctx.dimName(dim) + "'" +
                           lang::didYouMean(ctx.dimName(dim), candidates));
      return false;
    }
  if (hasRepetition(arrow.from) || hasRepetition(arrow.to)) {
    ctx.error(range, "a dimension is listed twice");
    return false;
  }
  for (DimId dim : arrow.to)
    if (type.has(dim) && !llvm::is_contained(arrow.from, dim)) {
      ctx.error(range, ctx.typeName(type) + " would have '" + ctx.dimName(dim) + "' twice");
      return false;
    }
  int64_t before = product(ctx, arrow.from), after = product(ctx, arrow.to);
  if (before == after || !known(ctx, arrow.from) || !known(ctx, arrow.to))
    return true;
  ctx.error(range, "sizes differ: " + equation(ctx, arrow.from, before) + ", " +
                       equation(ctx, arrow.to, after));
  return false;
}

/// The type after an arrow: its new names stand where the first old one stood.
static Type applyArrow(const Type &type, const Arrow &arrow) {
  Type result{type.kind, {}};
  for (DimId dim : type.dims) {
    if (dim == arrow.from.front())
      result.dims.append(arrow.to);
    else if (!llvm::is_contained(arrow.from, dim))
      result.dims.push_back(dim);
  }
  return result;
}

/// Whether a name of `arrow` occurs in one of `arrows`.
static bool meets(llvm::ArrayRef<Arrow> arrows, const Arrow &arrow) {
  auto in = [&](DimId dim) {
    return llvm::any_of(arrows, [&](const Arrow &other) {
      return llvm::is_contained(other.from, dim) || llvm::is_contained(other.to, dim);
    });
  };
  return llvm::any_of(arrow.from, in) || llvm::any_of(arrow.to, in);
}

static Entity reshapeFunction(BuiltinCall &call) {
  constexpr llvm::StringRef kUse =
      "'reshape' takes a tensor and arrows such as 'embed -> (heads, hdim)'";
  if (call.positional.empty())
    return call.error(kUse);
  std::optional<Tensor> x = call.tensor(*call.positional.front());
  if (!x)
    return Poison{};
  Type type = call.ctx.type(*x);
  Tensor current = *x;
  ReshapeAttrs attrs;
  auto flush = [&] {
    if (!attrs.arrows.empty())
      current.value = call.ctx.emit(Op::Reshape, {current.value}, type, attrs, call.range());
    attrs.arrows.clear();
  };
  for (const Argument *argument : llvm::drop_begin(call.positional)) {
    if (!argument->arrow) {
      // An arrow between things in error was reported where it stands.
      bool isArrow = llvm::isa<ast::ArrowExpr>(argument->syntax->value.get());
      return isArrow ? Entity() : call.ctx.error(argument->range, kUse);
    }
    const Arrow &arrow = *argument->arrow;
    if (arrow.from.empty())
      return call.ctx.error(argument->range, kUse);
    if (!checkArrow(call, type, arrow, argument->range))
      return Poison{};
    // Arrows that build on each other are taken one after the other.
    if (meets(attrs.arrows, arrow))
      flush();
    attrs.arrows.push_back(arrow);
    type = applyArrow(type, arrow);
  }
  flush();
  return current;
}

static Entity concatFunction(BuiltinCall &call) {
  constexpr llvm::StringRef kUse = "'concat' takes tensors and one arrow that names their "
                                   "dimensions and the new one: concat(a, b, (x, y) -> z)";
  Context &ctx = call.ctx;
  if (call.positional.size() < 2 || !call.positional.back()->arrow)
    return call.error(kUse);
  const Arrow &arrow = *call.positional.back()->arrow;
  llvm::SmallVector<ValueId> operands;
  for (const Argument *argument : llvm::drop_end(call.positional)) {
    std::optional<Tensor> x = call.tensor(*argument);
    if (!x)
      return Poison{};
    operands.push_back(x->value);
  }
  if (arrow.from.size() != operands.size() || arrow.to.size() != 1)
    return call.error(kUse);
  int64_t total = 0;
  for (DimId dim : arrow.from)
    total += ctx.size(dim);
  DimId joined = arrow.to.front();
  if (total != ctx.size(joined) && known(ctx, arrow.from) && known(ctx, {joined}))
    return call.error("sizes differ: " + names(ctx, arrow.from, "+") + " = " + llvm::Twine(total) +
                      ", " + ctx.dimName(joined) + " = " + llvm::Twine(ctx.size(joined)));
  Type first = ctx.type(operands.front());
  for (auto [operand, dim] : llvm::zip(operands, arrow.from)) {
    const Type &type = ctx.type(operand);
    if (!type.has(dim))
      return call.lacks(type, dim);
    bool agrees = type.kind == first.kind && type.dims.size() == first.dims.size() &&
                  llvm::all_of(type.dims, [&](DimId other) {
                    return other == dim || (other != arrow.from.front() && first.has(other));
                  });
    if (!agrees)
      return call.error("'concat' needs tensors that agree but for the dimension joined: " +
                        ctx.typeName(first) + " and " + ctx.typeName(type));
  }
  Type result = applyArrow(first, Arrow{{arrow.from.front()}, {joined}});
  if (hasRepetition(result.dims))
    return call.error(ctx.typeName(first) + " would have '" + ctx.dimName(joined) + "' twice");
  return call.emit(Op::Concat, operands, std::move(result), ConcatAttrs{arrow.from, joined});
}

/// slice, pad and top_k: a tensor and an arrow d -> e. Null after an error.
struct Resize {
  Tensor x;
  DimId from, to;
  Type result;
};
static std::optional<Resize> resizeOf(BuiltinCall &call) {
  if (!call.takes(2))
    return std::nullopt;
  std::optional<Tensor> x = call.tensor(*call.positional[0]);
  const Argument &second = *call.positional[1];
  bool isPoisonedArrow = !second.arrow && llvm::isa<ast::ArrowExpr>(second.syntax->value.get());
  if (!x || isPoisonedArrow)
    return std::nullopt;
  std::optional<std::pair<DimId, DimId>> arrow = call.arrow(second);
  if (!arrow)
    return std::nullopt;
  Type type = call.ctx.type(*x);
  if (!type.has(arrow->first)) {
    call.lacks(type, arrow->first);
    return std::nullopt;
  }
  if (arrow->first != arrow->second && type.has(arrow->second)) {
    call.error(call.ctx.typeName(type) + " would have '" + call.ctx.dimName(arrow->second) +
               "' twice");
    return std::nullopt;
  }
  Type result = applyArrow(type, Arrow{{arrow->first}, {arrow->second}});
  return Resize{*x, arrow->first, arrow->second, std::move(result)};
}

static Entity sliceFunction(BuiltinCall &call) {
  std::optional<Resize> resize = resizeOf(call);
  std::optional<int64_t> offset = call.integer("from", 0);
  if (!resize || !offset)
    return Poison{};
  Context &ctx = call.ctx;
  int64_t whole = ctx.size(resize->from), part = ctx.size(resize->to);
  if (*offset < 0)
    return call.error("'from' must not be negative");
  if (known(ctx, {resize->from, resize->to}) && *offset + part > whole)
    return call.error("'" + ctx.dimName(resize->to) + "' = " + llvm::Twine(part) + " from " +
                      llvm::Twine(*offset) + " on goes beyond '" + ctx.dimName(resize->from) +
                      "' = " + llvm::Twine(whole));
  return call.emit(Op::Slice, {resize->x.value}, resize->result,
                   ResizeAttrs{resize->from, resize->to, *offset, 0});
}

static Entity padFunction(BuiltinCall &call) {
  std::optional<Resize> resize = resizeOf(call);
  std::optional<int64_t> before = call.integer("before", 0);
  std::optional<double> value = call.real("value", 0);
  if (!resize || !before || !value)
    return Poison{};
  Context &ctx = call.ctx;
  int64_t inner = ctx.size(resize->from), whole = ctx.size(resize->to);
  if (*before < 0)
    return call.error("'before' must not be negative");
  if (known(ctx, {resize->from, resize->to}) && *before + inner > whole)
    return call.error("'" + ctx.dimName(resize->from) + "' = " + llvm::Twine(inner) + " after " +
                      llvm::Twine(*before) + " doesn't fit into '" + ctx.dimName(resize->to) +
                      "' = " + llvm::Twine(whole));
  return call.emit(Op::Pad, {resize->x.value}, resize->result,
                   ResizeAttrs{resize->from, resize->to, *before, *value});
}

static Entity topKFunction(BuiltinCall &call) {
  std::optional<Resize> resize = resizeOf(call);
  if (!resize)
    return Poison{};
  Context &ctx = call.ctx;
  int64_t whole = ctx.size(resize->from), part = ctx.size(resize->to);
  if (known(ctx, {resize->from, resize->to}) && part > whole)
    return call.error("'" + ctx.dimName(resize->to) + "' = " + llvm::Twine(part) +
                      " is more than '" + ctx.dimName(resize->from) + "' = " + llvm::Twine(whole));
  if (resize->result.kind == Kind::Bool)
    return call.error("'top_k' on a bool; use float(x)");
  Type indices{Kind::Int, resize->result.dims};
  llvm::SmallVector<ValueId, 2> values =
      ctx.emitMany(Op::TopK, {resize->x.value}, {resize->result, indices},
                   ResizeAttrs{resize->from, resize->to, 0, 0}, call.range());
  return Entity::tuple({Tensor{values[0]}, Tensor{values[1]}});
}

/// expand and one_hot: a tensor and dimensions that it doesn't have yet.
struct Widening {
  ValueId x;
  Type type;
  DimList dims;
};
static std::optional<Widening> wideningOf(BuiltinCall &call) {
  if (!call.takes(2))
    return std::nullopt;
  std::optional<Tensor> x = call.tensor(*call.positional[0]);
  std::optional<DimList> dims = call.dims(*call.positional[1]);
  if (!x || !dims)
    return std::nullopt;
  Type type = call.ctx.type(*x);
  for (DimId dim : *dims)
    if (type.has(dim)) {
      call.error(call.ctx.typeName(type) + " has '" + call.ctx.dimName(dim) + "' already");
      return std::nullopt;
    }
  return Widening{x->value, type, *dims};
}

static Entity expandFunction(BuiltinCall &call) {
  std::optional<Widening> widening = wideningOf(call);
  if (!widening)
    return Poison{};
  Type result{widening->type.kind, widening->dims};
  result.dims.append(widening->type.dims);
  return call.emit(Op::Expand, {widening->x}, std::move(result), DimsAttrs{widening->dims});
}

static Entity stackFunction(BuiltinCall &call) {
  if (!call.takes(2))
    return Poison{};
  Context &ctx = call.ctx;
  std::optional<DimList> dims = call.dims(*call.positional[1]);
  if (!dims)
    return Poison{};
  if (dims->size() != 1)
    return call.error("'stack' makes one new dimension");
  DimId dim = dims->front();
  const auto *tuple = call.positional[0]->value.as<TupleEntity>();
  int64_t count = tuple ? tuple->elements->size() : 1;
  if (!tuple || (ctx.size(dim) > 0 && count != ctx.size(dim)))
    return call.error("'stack' needs " + llvm::Twine(ctx.size(dim)) + " tensors for '" +
                      ctx.dimName(dim) + "', got " + llvm::Twine(count));
  llvm::SmallVector<ValueId> operands;
  Type first;
  for (const Entity &element : *tuple->elements) {
    const auto *tensor = element.as<Tensor>();
    if (!tensor)
      return call.error("'stack' needs tensors, not " + ctx.describe(element));
    const Type &type = ctx.type(*tensor);
    if (operands.empty())
      first = type;
    bool same = type.kind == first.kind && type.dims.size() == first.dims.size() &&
                llvm::all_of(type.dims, [&](DimId other) { return first.has(other); });
    if (!same)
      return call.error("'stack' needs equal types: " + ctx.typeName(first) + " and " +
                        ctx.typeName(type));
    operands.push_back(tensor->value);
  }
  if (first.has(dim))
    return call.error(ctx.typeName(first) + " has '" + ctx.dimName(dim) + "' already");
  Type result{first.kind, {dim}};
  result.dims.append(first.dims);
  return call.emit(Op::Stack, operands, std::move(result), DimsAttrs{{dim}});
}

static Entity oneHotFunction(BuiltinCall &call) {
  std::optional<Widening> widening = wideningOf(call);
  if (!widening)
    return Poison{};
  if (widening->type.kind != Kind::Int)
    return call.error("'one_hot' needs an int tensor, not " + call.ctx.typeName(widening->type));
  if (widening->dims.size() != 1)
    return call.error("'one_hot' makes one new dimension");
  Type result{Kind::Float, widening->type.dims};
  result.dims.push_back(widening->dims.front());
  return call.emit(Op::OneHot, {widening->x}, std::move(result), DimsAttrs{widening->dims});
}

static Entity iotaFunction(BuiltinCall &call) {
  if (!call.takes(1))
    return Poison{};
  const Argument &argument = *call.positional.front();
  const auto *dim = argument.value.as<DimEntity>();
  if (!dim)
    return call.error("'iota' takes a dimension, not " +
                      (argument.arrow ? "'->'" : call.ctx.describe(argument.value)));
  return call.emit(Op::Iota, {}, Type{Kind::Int, {dim->id}}, DimsAttrs{{dim->id}});
}

llvm::ArrayRef<Builtin> shapeBuiltins() {
  static const Builtin table[] = {
      {"reshape", {}, reshapeFunction},   {"concat", {}, concatFunction},
      {"slice", {"from"}, sliceFunction}, {"pad", {"before", "value"}, padFunction},
      {"expand", {}, expandFunction},     {"stack", {}, stackFunction},
      {"one_hot", {}, oneHotFunction},    {"iota", {}, iotaFunction},
      {"top_k", {}, topKFunction},
  };
  return table;
}

} // namespace ptlc::sema
