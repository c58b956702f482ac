//===- InitialValues.cpp - zeros, normal(0.02), ... -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The names of initial values are a list of their own, so a model may use them
// for other things.
//===----------------------------------------------------------------------===//
#include "lang/Sema/InitialValues.h"

#include <cmath>

namespace ptlc::sema {

namespace {
struct Row {
  llvm::StringRef name;
  InitKind kind;
  size_t numbers;
};
} // namespace

static constexpr Row kRows[] = {
    {"zeros", InitKind::Zeros, 0},       {"ones", InitKind::Ones, 0},
    {"constant", InitKind::Constant, 1}, {"normal", InitKind::Normal, 1},
    {"uniform", InitKind::Uniform, 2},   {"trunc_normal", InitKind::TruncNormal, 1},
};

static const Row *findRow(llvm::StringRef name) {
  for (const Row &row : kRows)
    if (row.name == name)
      return &row;
  return nullptr;
}

bool isInitialValue(llvm::StringRef name) { return findRow(name) != nullptr; }

/// The numbers in parentheses; nullopt after an error, silently if one is in error itself.
static std::optional<std::vector<double>> numbersOf(Context &ctx, llvm::StringRef name,
                                                    const Arguments &args) {
  std::vector<double> numbers;
  for (const Argument &arg : args) {
    Entity value = arg.arrow ? Entity(Text{}) : ctx.number(arg.value);
    if (value.isPoison())
      return std::nullopt;
    if (!arg.isPositional()) {
      ctx.error(arg.range, "'" + name + "' has no parameter '" + arg.label + "'");
      return std::nullopt;
    }
    if (!value.is<int64_t>() && !value.is<double>()) {
      ctx.error(arg.range, "'" + name + "' takes numbers, not " + ctx.describe(value));
      return std::nullopt;
    }
    if (!std::isfinite(value.asDouble())) {
      ctx.error(arg.range, "'" + name + "' takes finite numbers, this is " + numberText(value));
      return std::nullopt;
    }
    numbers.push_back(value.asDouble());
  }
  return numbers;
}

std::optional<InitialValue> evaluateInitialValue(Evaluator &evaluator, const ast::Expr &expr) {
  Context &ctx = evaluator.context();
  const auto *call = llvm::dyn_cast<ast::CallExpr>(&expr);
  const auto *ref = llvm::dyn_cast<ast::RefExpr>(call ? call->callee.get() : &expr);
  std::string name = ref ? ref->name.str() : ctx.sourceText(call ? *call->callee : expr);
  const Row *row = findRow(name);
  if (!row) {
    llvm::SmallVector<llvm::StringRef> candidates;
    for (const Row &other : kRows)
      candidates.push_back(other.name);
    ctx.error(expr.range,
              "unknown initial value '" + name + "'" + lang::didYouMean(name, candidates));
    return std::nullopt;
  }
  Arguments args;
  if (call)
    args = evaluator.arguments(call->args);
  std::optional<std::vector<double>> numbers = numbersOf(ctx, name, args);
  if (!numbers)
    return std::nullopt;
  if (numbers->size() != row->numbers) {
    ctx.error(expr.range, "'" + name + "' takes " + llvm::Twine(row->numbers) + " number" +
                              (row->numbers == 1 ? "" : "s") + ", got " +
                              llvm::Twine(numbers->size()));
    return std::nullopt;
  }
  InitialValue init{row->kind, 0, 0};
  if (!numbers->empty())
    init.a = numbers->front();
  if (numbers->size() > 1)
    init.b = numbers->back();
  bool isDeviation = row->kind == InitKind::Normal || row->kind == InitKind::TruncNormal;
  if (isDeviation && init.a < 0)
    ctx.error(expr.range, "a standard deviation must not be negative, is " + numberText(init.a));
  if (row->kind == InitKind::Uniform && init.a > init.b)
    ctx.error(expr.range, "the lower bound of 'uniform' is above the upper one");
  return init;
}

} // namespace ptlc::sema
