//===- RowBuiltins.cpp - Functions along one dimension --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Softmax, the norms and rope: each row along a dimension is transformed, and
// the type stays.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Builtins.h"

namespace ptlc::sema {

/// What the functions of this file begin with: floats, and the dimension that rows run along.
struct Rows {
  ValueId x;
  Type type;
  DimId over;
};
static std::optional<Rows> rowsOf(BuiltinCall &call) {
  if (!call.takes(1))
    return std::nullopt;
  if (!call.find("over")) {
    call.error("'" + call.name + "' needs 'over:'");
    return std::nullopt;
  }
  std::optional<Tensor> x = call.floats(*call.positional.front());
  if (!x)
    return std::nullopt;
  Type type = call.ctx.type(*x);
  std::optional<DimId> over = call.oneOf("over", type);
  return over ? std::optional(Rows{x->value, type, *over}) : std::nullopt;
}

template <Op op> static Entity softmaxFunction(BuiltinCall &call) {
  std::optional<Rows> rows = rowsOf(call);
  return rows ? call.emit(op, {rows->x}, rows->type, DimsAttrs{{rows->over}}) : Poison{};
}

template <Op op> static Entity normFunction(BuiltinCall &call) {
  std::optional<Rows> rows = rowsOf(call);
  std::optional<double> eps = rows ? call.real("eps", 1e-5) : std::nullopt;
  if (!eps)
    return Poison{};
  if (*eps < 0)
    return call.error("'eps' must not be negative");
  return call.emit(op, {rows->x}, rows->type, NormAttrs{rows->over, *eps});
}

static Entity ropeFunction(BuiltinCall &call) {
  std::optional<Rows> rows = rowsOf(call);
  std::optional<DimId> along = rows ? call.oneOf("along", rows->type) : std::nullopt;
  std::optional<double> theta = along ? call.real("theta", 10000.0) : std::nullopt;
  if (!theta)
    return Poison{};
  int64_t size = call.ctx.size(rows->over);
  if (rows->over == *along)
    return call.error("'rope' runs over one dimension along another");
  if (size % 2 != 0)
    return call.error("'rope' needs an even '" + call.ctx.dimName(rows->over) + "', is " +
                      llvm::Twine(size));
  if (*theta <= 0)
    return call.error("'theta' must be positive");
  return call.emit(Op::Rope, {rows->x}, rows->type, RopeAttrs{rows->over, *along, *theta});
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
