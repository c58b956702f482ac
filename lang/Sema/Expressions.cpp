//===- Expressions.cpp - What expressions mean ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Dispatches on the kind of an expression; the leaves and groups are here.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Evaluator.h"

namespace ptlc::sema {

static Entity number(Context &ctx, const ast::NumberExpr &expr) {
  std::string digits = expr.digits();
  if (!expr.isInt) {
    double real = 0;
    if (llvm::StringRef(digits).getAsDouble(real))
      return ctx.error(expr.range, "the number is out of range");
    return real;
  }
  int64_t integer = 0;
  if (llvm::StringRef(digits).getAsInteger(10, integer))
    return ctx.error(expr.range, "the number doesn't fit a 64-bit int");
  return integer;
}

Entity Evaluator::evaluate(const ast::Expr &expr) {
  switch (expr.kind()) {
  case ast::Kind::NumberExpr:
    return number(ctx, llvm::cast<ast::NumberExpr>(expr));
  case ast::Kind::BoolExpr:
    return llvm::cast<ast::BoolExpr>(expr).value;
  case ast::Kind::StringExpr:
    return Text{llvm::cast<ast::StringExpr>(expr).value};
  case ast::Kind::RefExpr:
    return lookup(llvm::cast<ast::RefExpr>(expr).name.text);
  case ast::Kind::CallExpr:
    return call(llvm::cast<ast::CallExpr>(expr));
  case ast::Kind::IndexExpr:
    return index(llvm::cast<ast::IndexExpr>(expr));
  case ast::Kind::UnaryExpr:
    return unary(llvm::cast<ast::UnaryExpr>(expr));
  case ast::Kind::BinaryExpr:
    return binary(llvm::cast<ast::BinaryExpr>(expr));
  case ast::Kind::RangeExpr:
    return range(llvm::cast<ast::RangeExpr>(expr));
  case ast::Kind::GroupExpr:
    return group(llvm::cast<ast::GroupExpr>(expr));
  case ast::Kind::AccessExpr: {
    const auto &access = llvm::cast<ast::AccessExpr>(expr);
    Entity base = evaluate(*access.base);
    return member(base, ctx.sources.text(access.base->range), access.member, access.range);
  }
  case ast::Kind::ArrowExpr:
    return ctx.error(expr.range, "'->' can't stand here");
  default:
    return ctx.error(expr.range, "a unit can't stand here");
  }
}

Entity Evaluator::group(const ast::GroupExpr &expr) {
  if (!expr.isTuple())
    return evaluate(*expr.elements.front());
  std::vector<Entity> elements;
  bool poisoned = false;
  for (const ast::ExprPtr &element : expr.elements) {
    elements.push_back(evaluate(*element));
    poisoned |= elements.back().isPoison();
  }
  return poisoned ? Entity() : Entity::tuple(std::move(elements));
}

Entity Evaluator::range(const ast::RangeExpr &expr) {
  int64_t ends[2] = {0, 0};
  const ast::Expr *sides[2] = {expr.first.get(), expr.last.get()};
  bool failed = false;
  for (int i = 0; i < 2; ++i) {
    Entity value = ctx.number(evaluate(*sides[i]));
    if (const auto *integer = value.as<int64_t>()) {
      ends[i] = *integer;
      continue;
    }
    failed = true;
    if (!value.isPoison())
      ctx.error(sides[i]->range,
                "the ends of a range are whole numbers, this is " + ctx.describe(value));
  }
  return failed ? Entity() : Entity(RangeEntity{ends[0], ends[1]});
}

std::optional<RangeEntity> Evaluator::walked(const Entity &value, lang::SourceRange range,
                                             llvm::StringRef word) {
  constexpr int64_t kMostSteps = 1 << 16; // expansions beyond this are a slip, not a model
  Entity entity = ctx.number(value);
  RangeEntity result;
  if (const auto *given = entity.as<RangeEntity>())
    result = *given;
  else if (const auto *count = entity.as<int64_t>())
    result = {0, *count};
  else {
    if (!entity.isPoison())
      ctx.error(range,
                word == "repeat"
                    ? "'repeat' needs a whole number, found " +
                          (entity.isNumber() ? numberText(entity) : ctx.describe(entity))
                    : "'for' walks a range such as 0..n or a stack, not " + ctx.describe(entity));
    return std::nullopt;
  }
  if (result.last <= result.first || result.last - result.first <= kMostSteps)
    return result;
  ctx.error(range, "'" + word + "' is expanded, and " + llvm::Twine(result.last - result.first) +
                       " times is too often; the most is " + llvm::Twine(kMostSteps));
  return std::nullopt;
}

} // namespace ptlc::sema
