//===- ElementwiseBuiltins.cpp - Functions of each element ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Functions that work on each element by itself. On numbers they are computed
// when the program is compiled.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Builtins.h"

#include <cmath>
#include <numbers>

namespace ptlc::sema {

/// A function of one float: the number form and the node.
template <Op op, double (*compute)(double)> static Entity unaryFunction(BuiltinCall &call) {
  if (!call.takes(1))
    return Poison{};
  const Argument &argument = *call.positional.front();
  Entity value = argument.arrow ? Entity() : call.ctx.number(argument.value);
  if (value.is<int64_t>() || value.is<double>())
    return compute(value.asDouble());
  std::optional<Tensor> x = call.floats(argument);
  if (!x)
    return Poison{};
  return call.emit(op, {x->value}, call.ctx.type(*x));
}

static double rsqrtOf(double x) { return 1.0 / std::sqrt(x); }
static double sigmoidOf(double x) { return 1.0 / (1.0 + std::exp(-x)); }
static double reluOf(double x) { return x > 0 ? x : 0.0; }
static double siluOf(double x) { return x * sigmoidOf(x); }
static double geluOf(double x) {
  double inner = std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1.0 + std::tanh(inner));
}
static double expOf(double x) { return std::exp(x); }
static double logOf(double x) { return std::log(x); }
static double sqrtOf(double x) { return std::sqrt(x); }
static double sinOf(double x) { return std::sin(x); }
static double cosOf(double x) { return std::cos(x); }
static double tanhOf(double x) { return std::tanh(x); }

static Entity absFunction(BuiltinCall &call) {
  if (!call.takes(1))
    return Poison{};
  const Argument &argument = *call.positional.front();
  Entity value = argument.arrow ? Entity() : call.ctx.number(argument.value);
  if (const auto *integer = value.as<int64_t>())
    return *integer < 0 ? numberNegate(call.ctx, value, call.range()) : value;
  if (const auto *real = value.as<double>())
    return std::fabs(*real);
  std::optional<Tensor> x = call.tensor(argument);
  if (!x)
    return Poison{};
  const Type &type = call.ctx.type(*x);
  if (type.kind == Kind::Bool)
    return call.error("'abs' on a bool; use float(x)");
  return call.emit(Op::Abs, {x->value}, type);
}

template <bool up> static Entity roundFunction(BuiltinCall &call) {
  if (!call.takes(1))
    return Poison{};
  const Argument &argument = *call.positional.front();
  Entity value = argument.arrow ? Entity() : call.ctx.number(argument.value);
  if (value.is<int64_t>() || value.is<double>())
    return numberRound(call.ctx, value, up, call.range());
  std::optional<Tensor> x = call.floats(argument);
  if (!x)
    return Poison{};
  return call.emit(up ? Op::Ceil : Op::Floor, {x->value}, call.ctx.type(*x));
}

/// `float(x)` and `int(x)`: an int of a float number is truncated.
template <Kind kind> static Entity castFunction(BuiltinCall &call) {
  if (!call.takes(1))
    return Poison{};
  const Argument &argument = *call.positional.front();
  Entity value = argument.arrow ? Entity() : call.ctx.number(argument.value);
  if (value.isNumber()) {
    if (kind == Kind::Float)
      return value.asDouble();
    return numberRound(call.ctx, value.is<bool>() ? Entity(value.asDouble()) : value,
                       /*up=*/value.asDouble() < 0, call.range());
  }
  if (!value.is<Tensor>())
    return call.error("'" + call.name + "' needs a number or a tensor, not " +
                      (argument.arrow ? "'->'" : call.ctx.describe(value)));
  return Tensor{call.evaluator.operand(value, kind, call.range())};
}

/// The value of a positional argument as a number or tensor; poison after an error.
static Entity operandOf(BuiltinCall &call, size_t index) {
  const Argument &argument = *call.positional[index];
  if (argument.arrow)
    return call.error("'" + call.name + "' needs a tensor, not '->'");
  return call.ctx.number(argument.value);
}

static Entity powFunction(BuiltinCall &call) {
  if (!call.takes(2))
    return Poison{};
  Entity base = operandOf(call, 0), exponent = operandOf(call, 1);
  if (base.isPoison() || exponent.isPoison())
    return Poison{};
  std::optional<DimList> dims = call.evaluator.join("pow", base, exponent, call.range());
  if (!dims)
    return Poison{};
  Evaluator &evaluator = call.evaluator;
  if (evaluator.kind(base) == Kind::Bool || evaluator.kind(exponent) == Kind::Bool)
    return call.error("'pow' on a bool; use float(x)");
  if (base.isNumber() && exponent.isNumber())
    return numberPower(call.ctx, base, exponent, call.range());
  ValueId a = evaluator.operand(base, Kind::Float, call.range());
  ValueId b = evaluator.operand(exponent, Kind::Float, call.range());
  return call.emit(Op::Pow, {a, b}, Type{Kind::Float, *dims});
}

/// The element kind of a choice between two values: int with float gives float.
static std::optional<Kind> commonKind(BuiltinCall &call, const Entity &a, const Entity &b) {
  Kind left = call.evaluator.kind(a), right = call.evaluator.kind(b);
  if (left == right)
    return left;
  if (left == Kind::Bool || right == Kind::Bool) {
    call.error("'" + call.name + "' chooses between " + kindName(left) + " and " + kindName(right) +
               "; use float(x)");
    return std::nullopt;
  }
  return Kind::Float;
}

static Entity whereNumbers(BuiltinCall &call, const Entity &condition, const Entity &a,
                           const Entity &b) {
  if (const auto *truth = condition.as<bool>())
    return *truth ? a : b;
  return call.error("the condition of 'where' is a bool, not " + call.ctx.describe(condition));
}

static Entity whereFunction(BuiltinCall &call) {
  if (!call.takes(3))
    return Poison{};
  Entity condition = operandOf(call, 0), a = operandOf(call, 1), b = operandOf(call, 2);
  if (condition.isPoison() || a.isPoison() || b.isPoison())
    return Poison{};
  bool known = !condition.is<Tensor>() && !a.is<Tensor>() && !b.is<Tensor>();
  if (known)
    return whereNumbers(call, condition, a, b);
  std::optional<DimList> chosen = call.evaluator.join("where", a, b, call.range());
  if (!chosen)
    return Poison{};
  bool isBool = (condition.isNumber() || condition.is<Tensor>()) &&
                call.evaluator.kind(condition) == Kind::Bool;
  if (!isBool)
    return call.error("the condition of 'where' is a bool, not " + call.ctx.describe(condition));
  std::optional<Kind> kind = commonKind(call, a, b);
  if (!kind)
    return Poison{};
  Type mask{Kind::Bool, {}}, result{*kind, *chosen};
  if (const auto *tensor = condition.as<Tensor>())
    mask = call.ctx.type(*tensor);
  bool inside = llvm::all_of(mask.dims, [&](DimId dim) { return result.has(dim); });
  if (!inside && !llvm::all_of(result.dims, [&](DimId dim) { return mask.has(dim); }))
    return call.error("'where' needs one operand whose dimensions contain the others': " +
                      call.ctx.typeName(mask) + " and " + call.ctx.typeName(result));
  if (!inside)
    result.dims = mask.dims;
  Evaluator &evaluator = call.evaluator;
  ValueId c = evaluator.operand(condition, Kind::Bool, call.range());
  ValueId x = evaluator.operand(a, *kind, call.range());
  ValueId y = evaluator.operand(b, *kind, call.range());
  return call.emit(Op::Where, {c, x, y}, std::move(result));
}

static Entity stopGradient(BuiltinCall &call) {
  if (!call.takes(1))
    return Poison{};
  std::optional<Tensor> x = call.tensor(*call.positional.front());
  if (!x)
    return Poison{};
  return call.emit(Op::StopGradient, {x->value}, call.ctx.type(*x));
}

llvm::ArrayRef<Builtin> elementwiseBuiltins() {
  static const Builtin table[] = {
      {"exp", {}, unaryFunction<Op::Exp, expOf>},
      {"log", {}, unaryFunction<Op::Log, logOf>},
      {"sqrt", {}, unaryFunction<Op::Sqrt, sqrtOf>},
      {"rsqrt", {}, unaryFunction<Op::Rsqrt, rsqrtOf>},
      {"sin", {}, unaryFunction<Op::Sin, sinOf>},
      {"cos", {}, unaryFunction<Op::Cos, cosOf>},
      {"tanh", {}, unaryFunction<Op::Tanh, tanhOf>},
      {"sigmoid", {}, unaryFunction<Op::Sigmoid, sigmoidOf>},
      {"abs", {}, absFunction},
      {"pow", {}, powFunction},
      {"relu", {}, unaryFunction<Op::Relu, reluOf>},
      {"gelu", {}, unaryFunction<Op::Gelu, geluOf>},
      {"silu", {}, unaryFunction<Op::Silu, siluOf>},
      {"floor", {}, roundFunction<false>},
      {"ceil", {}, roundFunction<true>},
      {"float", {}, castFunction<Kind::Float>},
      {"int", {}, castFunction<Kind::Int>},
      {"where", {}, whereFunction},
      {"stop_gradient", {}, stopGradient},
  };
  return table;
}

} // namespace ptlc::sema
