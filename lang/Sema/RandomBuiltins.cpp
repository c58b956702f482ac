//===- RandomBuiltins.cpp - Random values and drop-out --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each call has a random stream of its own, keyed by the path of its part and
// its number among the part's random calls.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Builtins.h"

namespace ptlc::sema {

/// "blocks.0#2": the third random call of that part.
static std::string nextPlace(BuiltinCall &call) {
  PartId part = call.evaluator.part();
  return call.ctx.program.parts[part].path + "#" + std::to_string(call.ctx.nextRandom(part));
}

static Entity dropoutFunction(BuiltinCall &call) {
  if (!call.takes(2))
    return Poison{};
  std::optional<Tensor> x = call.floats(*call.positional[0]);
  if (!x)
    return Poison{};
  const Argument &second = *call.positional[1];
  Entity p = second.arrow ? Entity() : call.ctx.number(second.value);
  if (!p.is<double>() && !p.is<int64_t>())
    return call.error("the rate of 'dropout' is a number known when the program is compiled");
  double rate = p.asDouble();
  if (!(rate >= 0 && rate < 1))
    return call.error("the rate of 'dropout' is at least 0 and below 1, is " + numberText(p));
  // A rate of 0 counts as a call all the same: the streams of the others don't depend on it.
  std::string place = nextPlace(call);
  if (rate == 0)
    return *x;
  return call.emit(Op::Dropout, {x->value}, call.ctx.type(*x), RandomAttrs{rate, place});
}

template <Op op> static Entity randomFunction(BuiltinCall &call) {
  DimList dims;
  for (const Argument *argument : call.positional) {
    std::optional<DimList> some = call.dims(*argument);
    if (!some)
      return Poison{};
    for (DimId dim : *some) {
      if (llvm::is_contained(dims, dim))
        return call.error("'" + call.ctx.dimName(dim) + "' is listed twice");
      dims.push_back(dim);
    }
  }
  return call.emit(op, {}, Type{Kind::Float, dims}, RandomAttrs{0, nextPlace(call)});
}

llvm::ArrayRef<Builtin> randomBuiltins() {
  static const Builtin table[] = {
      {"dropout", {}, dropoutFunction},
      {"random_normal", {}, randomFunction<Op::RandomNormal>},
      {"random_uniform", {}, randomFunction<Op::RandomUniform>},
  };
  return table;
}

} // namespace ptlc::sema
