//===- Numbers.cpp - Exact arithmetic at compile time ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Ints are exact: a division that leaves a remainder and a result that doesn't
// fit 64 bits are errors. `%` has the sign of the divisor, as in Python.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Evaluator.h"

#include <cmath>

namespace ptlc::sema {

using ast::BinaryOp;

static Entity tooLarge(Context &ctx, lang::SourceRange range) {
  return ctx.error(range, "the result doesn't fit a 64-bit int");
}

static int64_t pythonMod(int64_t a, int64_t b) {
  if (b == -1)
    return 0; // a % -1 overflows for the least int
  int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static double pythonMod(double a, double b) {
  double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static Entity divideInts(Context &ctx, const ast::BinaryExpr &expr, int64_t a, int64_t b) {
  if (b == -1 && a == INT64_MIN)
    return tooLarge(ctx, expr.range);
  if (a % b == 0)
    return a / b;
  std::string left = std::to_string(a), right = std::to_string(b);
  return ctx.error(expr.range, left + " / " + right + " leaves a remainder (" +
                                   ctx.sourceText(*expr.lhs) + " / " + ctx.sourceText(*expr.rhs) +
                                   "); write " + left + ".0 / " + right +
                                   " for a fraction, floor(…) or ceil(…) to round");
}

static Entity intArithmetic(Context &ctx, const ast::BinaryExpr &expr, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  switch (expr.op) {
  case BinaryOp::Add:
    overflow = __builtin_add_overflow(a, b, &result);
    break;
  case BinaryOp::Sub:
    overflow = __builtin_sub_overflow(a, b, &result);
    break;
  case BinaryOp::Mul:
    overflow = __builtin_mul_overflow(a, b, &result);
    break;
  case BinaryOp::Div:
    return divideInts(ctx, expr, a, b);
  default:
    return pythonMod(a, b);
  }
  return overflow ? tooLarge(ctx, expr.range) : Entity(result);
}

static Entity floatArithmetic(BinaryOp op, double a, double b) {
  switch (op) {
  case BinaryOp::Add:
    return a + b;
  case BinaryOp::Sub:
    return a - b;
  case BinaryOp::Mul:
    return a * b;
  case BinaryOp::Div:
    return a / b;
  default:
    return pythonMod(a, b);
  }
}

template <typename T> static bool compare(BinaryOp op, T a, T b) {
  switch (op) {
  case BinaryOp::Less:
    return a < b;
  case BinaryOp::LessEqual:
    return a <= b;
  case BinaryOp::Greater:
    return a > b;
  case BinaryOp::GreaterEqual:
    return a >= b;
  case BinaryOp::Equal:
    return a == b;
  default:
    return a != b;
  }
}

Entity numberBinary(Context &ctx, const ast::BinaryExpr &expr, const Entity &lhs,
                    const Entity &rhs) {
  const auto *a = lhs.as<int64_t>(), *b = rhs.as<int64_t>();
  if (ast::isComparison(expr.op))
    return a && b ? compare(expr.op, *a, *b) : compare(expr.op, lhs.asDouble(), rhs.asDouble());
  if (lhs.is<bool>() || rhs.is<bool>())
    return ctx.error(expr.range, "'" + ast::spelling(expr.op) +
                                     "' on a bool; use where(…) or "
                                     "float(x)");
  bool divides = expr.op == BinaryOp::Div || expr.op == BinaryOp::Rem;
  if (divides && rhs.asDouble() == 0)
    return ctx.error(expr.range, "division by zero");
  if (a && b)
    return intArithmetic(ctx, expr, *a, *b);
  return floatArithmetic(expr.op, lhs.asDouble(), rhs.asDouble());
}

Entity numberNegate(Context &ctx, const Entity &value, lang::SourceRange range) {
  if (const auto *integer = value.as<int64_t>())
    return *integer == INT64_MIN ? tooLarge(ctx, range) : Entity(-*integer);
  return -value.asDouble();
}

Entity numberPower(Context &ctx, const Entity &base, const Entity &exponent,
                   lang::SourceRange range) {
  const auto *b = base.as<int64_t>(), *e = exponent.as<int64_t>();
  if (!b || !e || *e < 0)
    return std::pow(base.asDouble(), exponent.asDouble());
  int64_t result = 1;
  // Beyond 63 factors only 0, 1 and -1 stay small, and their powers repeat.
  int64_t count = *b >= -1 && *b <= 1 ? *e % 2 + (*e > 0 ? 2 : 0) : *e;
  for (int64_t i = 0; i < count; ++i)
    if (__builtin_mul_overflow(result, *b, &result))
      return tooLarge(ctx, range);
  return result;
}

Entity numberRound(Context &ctx, const Entity &value, bool up, lang::SourceRange range) {
  if (value.is<int64_t>())
    return value;
  double rounded = up ? std::ceil(value.asDouble()) : std::floor(value.asDouble());
  if (!(std::fabs(rounded) < 9.2e18))
    return tooLarge(ctx, range);
  return static_cast<int64_t>(rounded);
}

} // namespace ptlc::sema
