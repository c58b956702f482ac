//===- RowBuiltins.cpp - Functions along one dimension --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Softmax, the norms and rope: each row along a dimension is transformed, and
// the type stays.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Builtins.h"

namespace ptlc::sema {

template <Op op> static Entity softmaxFunction(BuiltinCall &call) {
  if (!call.takes(1))
    return Poison{};
  if (!call.find("over"))
    return call.error("'" + call.name + "' needs 'over:'");
  std::optional<Tensor> x = call.floats(*call.positional.front());
  if (!x)
    return Poison{};
  Type type = call.ctx.type(*x);
  std::optional<DimId> over = call.oneOf("over", type);
  return over ? call.emit(op, {x->value}, type, DimsAttrs{{*over}}) : Poison{};
}

template <Op op> static Entity normFunction(BuiltinCall &call) {
  if (!call.takes(1))
    return Poison{};
  if (!call.find("over"))
    return call.error("'" + call.name + "' needs 'over:'");
  std::optional<Tensor> x = call.floats(*call.positional.front());
  if (!x)
    return Poison{};
  Type type = call.ctx.type(*x);
  std::optional<DimId> over = call.oneOf("over", type);
  std::optional<double> eps = call.real("eps", 1e-5);
  if (!over || !eps)
    return Poison{};
  if (*eps < 0)
    return call.error("'eps' must not be negative");
  return call.emit(op, {x->value}, type, NormAttrs{*over, *eps});
}

static Entity ropeFunction(BuiltinCall &call) {
  if (!call.takes(1))
    return Poison{};
  std::optional<Tensor> x = call.floats(*call.positional.front());
  if (!x)
    return Poison{};
  Type type = call.ctx.type(*x);
  std::optional<DimId> over = call.oneOf("over", type);
  if (!over)
    return Poison{};
  std::optional<DimId> along = call.oneOf("along", type);
  std::optional<double> theta = call.real("theta", 10000.0);
  if (!along || !theta)
    return Poison{};
  if (*over == *along)
    return call.error("'rope' runs over one dimension along another");
  if (call.ctx.size(*over) % 2 != 0)
    return call.error("'rope' needs an even '" + call.ctx.dimName(*over) + "', is " +
                      llvm::Twine(call.ctx.size(*over)));
  if (*theta <= 0)
    return call.error("'theta' must be positive");
  return call.emit(Op::Rope, {x->value}, type, RopeAttrs{*over, *along, *theta});
}

llvm::ArrayRef<Builtin> rowBuiltins() {
  static const Builtin table[] = {
      {"softmax", {"over"}, softmaxFunction<Op::Softmax>},
      {"log_softmax", {"over"}, softmaxFunction<Op::LogSoftmax>},
      {"layer_norm", {"over", "eps"}, normFunction<Op::LayerNorm>},
      {"rms_norm", {"over", "eps"}, normFunction<Op::RmsNorm>},
      {"rope", {"over", "along", "theta"}, ropeFunction},
  };
  return table;
}

} // namespace ptlc::sema
