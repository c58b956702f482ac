//===- ReductionBuiltins.cpp - Folds and contractions ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// sum, mean, max and min fold named dimensions, all of them if `over` is left
// out; with two operands max and min are element-wise. bool counts as 0 and 1.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Builtins.h"

namespace ptlc::sema {

/// The mask of a fold: a bool whose names are among those of `type`.
static std::optional<Tensor> maskOf(BuiltinCall &call, const Argument &argument, const Type &type) {
  const auto *mask = argument.value.as<Tensor>();
  if (argument.arrow || !mask || call.ctx.type(*mask).kind != Kind::Bool) {
    call.ctx.error(argument.range,
                   "'where' is a bool tensor, not " +
                       (argument.arrow ? "'->'" : call.ctx.describe(argument.value)));
    return std::nullopt;
  }
  DimList extra;
  for (DimId dim : call.ctx.type(*mask).dims)
    if (!type.has(dim))
      extra.push_back(dim);
  if (extra.empty())
    return *mask;
  call.ctx.error(argument.range, "the mask " + call.ctx.typeName(call.ctx.type(*mask)) + " has " +
                                     call.ctx.quoted(extra) + ", which " + call.ctx.typeName(type) +
                                     " lacks");
  return std::nullopt;
}

static Entity fold(BuiltinCall &call, Op op) {
  std::optional<Tensor> x = call.tensor(*call.positional.front());
  if (!x)
    return Poison{};
  Type type = call.ctx.type(*x);
  std::optional<DimList> over = type.dims;
  if (call.find("over"))
    over = call.over(type);
  if (!over)
    return Poison{};
  llvm::SmallVector<ValueId, 2> operands;
  // Means are of floats, and so are sums of truth values: they weigh other numbers.
  Kind kind = op == Op::Mean || type.kind == Kind::Bool ? Kind::Float : type.kind;
  operands.push_back(call.evaluator.operand(*x, kind, call.range()));
  if (const Argument *argument = call.find("where")) {
    std::optional<Tensor> mask = maskOf(call, *argument, type);
    if (!mask)
      return Poison{};
    operands.push_back(mask->value);
  }
  Type result{kind, {}};
  for (DimId dim : type.dims)
    if (!llvm::is_contained(*over, dim))
      result.dims.push_back(dim);
  return call.emit(op, operands, std::move(result), DimsAttrs{*over});
}

template <Op op> static Entity foldFunction(BuiltinCall &call) {
  return call.takes(1) ? fold(call, op) : Poison{};
}

static Entity extremeOfTwo(BuiltinCall &call, Op op) {
  for (const Argument *argument : call.positional)
    if (argument->arrow)
      return call.error("'" + call.name + "' needs a tensor, not '->'");
  Entity a = call.ctx.number(call.positional[0]->value);
  Entity b = call.ctx.number(call.positional[1]->value);
  if (a.isPoison() || b.isPoison())
    return Poison{};
  if (!call.named.empty())
    return call.error("'" + call.name + "' of two values is element-wise and has no '" +
                      call.named.front()->label + "'");
  std::optional<DimList> dims = call.evaluator.join(call.name, a, b, call.range());
  if (!dims)
    return Poison{};
  Kind left = call.evaluator.kind(a), right = call.evaluator.kind(b);
  if (left == Kind::Bool || right == Kind::Bool)
    return call.error("'" + call.name + "' on a bool; use 'and', 'or' or float(x)");
  Kind kind = left == right ? left : Kind::Float;
  if (a.isNumber() && b.isNumber()) {
    bool first = op == Op::Max2 ? a.asDouble() >= b.asDouble() : a.asDouble() <= b.asDouble();
    const Entity &chosen = first ? a : b;
    return kind == Kind::Float ? Entity(chosen.asDouble()) : chosen;
  }
  ValueId x = call.evaluator.operand(a, kind, call.range());
  ValueId y = call.evaluator.operand(b, kind, call.range());
  return call.emit(op, {x, y}, Type{kind, *dims});
}

template <Op foldOp, Op elementOp> static Entity extremeFunction(BuiltinCall &call) {
  if (!call.takes(1, 2))
    return Poison{};
  return call.positional.size() == 1 ? fold(call, foldOp) : extremeOfTwo(call, elementOp);
}

static Entity dotFunction(BuiltinCall &call) {
  const Argument *over = call.find("over");
  if (!over)
    return call.error("'dot' needs 'over:'");
  if (call.positional.empty())
    return call.error("'dot' takes tensors");
  llvm::SmallVector<Tensor, 3> operands;
  for (const Argument *argument : call.positional) {
    std::optional<Tensor> operand = call.tensor(*argument);
    if (!operand)
      return Poison{};
    operands.push_back(*operand);
  }
  std::optional<DimList> dims = call.dims(*over);
  return dims ? call.evaluator.contract(operands, *dims, call.range()) : Poison{};
}

static Entity argmaxFunction(BuiltinCall &call) {
  if (!call.takes(1))
    return Poison{};
  std::optional<Tensor> x = call.tensor(*call.positional.front());
  if (!x)
    return Poison{};
  Type type = call.ctx.type(*x);
  std::optional<DimId> over = call.oneOf("over", type);
  if (!over)
    return Poison{};
  if (type.kind == Kind::Bool)
    return call.error("'argmax' on a bool; use float(x)");
  Type result{Kind::Int, type.dims};
  result.dims.erase(llvm::find(result.dims, *over));
  return call.emit(Op::ArgMax, {x->value}, std::move(result), DimsAttrs{{*over}});
}

llvm::ArrayRef<Builtin> reductionBuiltins() {
  static const Builtin table[] = {
      {"sum", {"over", "where"}, foldFunction<Op::Sum>},
      {"mean", {"over", "where"}, foldFunction<Op::Mean>},
      {"max", {"over", "where"}, extremeFunction<Op::Max, Op::Max2>},
      {"min", {"over", "where"}, extremeFunction<Op::Min, Op::Min2>},
      {"dot", {"over"}, dotFunction},
      {"argmax", {"over"}, argmaxFunction},
  };
  return table;
}

} // namespace ptlc::sema
