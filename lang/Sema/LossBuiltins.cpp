//===- LossBuiltins.cpp - Losses ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Scalar means over the valid targets of the whole batch, or, with
// `reduce: false`, one value for each target.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Builtins.h"

namespace ptlc::sema {

static Entity crossEntropyFunction(BuiltinCall &call) {
  if (!call.takes(2))
    return Poison{};
  Context &ctx = call.ctx;
  std::optional<Tensor> logits = call.floats(*call.positional[0]);
  if (!logits)
    return Poison{};
  Type type = ctx.type(*logits);
  if (!call.find("over"))
    return call.error("'cross_entropy' needs 'over:'");
  std::optional<DimId> over = call.oneOf("over", type);
  std::optional<bool> reduce = call.flag("reduce", true);
  std::optional<int64_t> ignore = call.integer("ignore", 0);
  if (!over || !reduce || !ignore)
    return Poison{};
  const Argument &second = *call.positional[1];
  const auto *targets = second.value.as<Tensor>();
  if (second.arrow || !targets || ctx.type(*targets).kind != Kind::Int)
    return call.error("the targets of 'cross_entropy' are an int tensor, not " +
                      (second.arrow ? "'->'" : ctx.describe(second.value)));
  Type wanted{Kind::Int, type.dims};
  wanted.dims.erase(llvm::find(wanted.dims, *over));
  const Type &given = ctx.type(*targets);
  bool same = given.dims.size() == wanted.dims.size() &&
              llvm::all_of(given.dims, [&](DimId dim) { return wanted.has(dim); });
  if (!same)
    return call.error("'cross_entropy' of " + ctx.typeName(type) + " over '" + ctx.dimName(*over) +
                      "' needs targets " + ctx.typeName(wanted) + ", not " + ctx.typeName(given));
  CrossEntropyAttrs attrs;
  attrs.over = *over;
  attrs.reduce = *reduce;
  if (call.find("ignore"))
    attrs.ignore = *ignore;
  Type result{Kind::Float, *reduce ? DimList() : wanted.dims};
  return call.emit(Op::CrossEntropy, {logits->value, targets->value}, std::move(result), attrs);
}

static Entity mseFunction(BuiltinCall &call) {
  if (!call.takes(2))
    return Poison{};
  std::optional<Tensor> a = call.floats(*call.positional[0]);
  std::optional<Tensor> b = call.floats(*call.positional[1]);
  if (!a || !b)
    return Poison{};
  const Type &left = call.ctx.type(*a), &right = call.ctx.type(*b);
  bool same = left.dims.size() == right.dims.size() &&
              llvm::all_of(left.dims, [&](DimId dim) { return right.has(dim); });
  if (!same)
    return call.error("'mse' compares equal types: " + call.ctx.typeName(left) + " and " +
                      call.ctx.typeName(right));
  return call.emit(Op::Mse, {a->value, b->value}, Type{});
}

llvm::ArrayRef<Builtin> lossBuiltins() {
  static const Builtin table[] = {
      {"cross_entropy", {"over", "ignore", "reduce"}, crossEntropyFunction},
      {"mse", {}, mseFunction},
  };
  return table;
}

} // namespace ptlc::sema
