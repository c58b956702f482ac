//===- Operators.cpp - Arithmetic, comparisons and products ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Operands align by name: one must have all names of the other. An int operand
// beside a float one is cast, by a node. `@` looks at the order: the last name
// on its left against the first on its right.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Evaluator.h"

namespace ptlc::sema {

using ast::BinaryOp;

Kind Evaluator::kind(const Entity &value) const {
  const auto *tensor = value.as<Tensor>();
  return tensor ? ctx.type(*tensor).kind : kindOf(value);
}

ValueId Evaluator::operand(const Entity &value, Kind kind, lang::SourceRange range) {
  const auto *tensor = value.as<Tensor>();
  if (!tensor)
    return ctx.emitConstant(value, kind, range);
  Type type = ctx.type(*tensor);
  if (type.kind == kind)
    return tensor->value;
  type.kind = kind;
  return ctx.emit(kind == Kind::Int ? Op::ToInt : Op::ToFloat, {tensor->value}, std::move(type), {},
                  range);
}

Entity Evaluator::unary(const ast::UnaryExpr &expr) {
  Entity value = ctx.number(evaluate(*expr.operand));
  if (value.isPoison())
    return Poison{};
  const auto *tensor = value.as<Tensor>();
  bool isNot = expr.op == ast::UnaryOp::Not;
  if (!tensor && !value.isNumber())
    return ctx.error(expr.range, (isNot ? "'not' on " : "arithmetic on ") + ctx.describe(value));
  bool isBool = kind(value) == Kind::Bool;
  if (isNot && !isBool)
    return ctx.error(expr.range, "'not' needs a bool, has " + ctx.describe(value));
  if (!isNot && isBool)
    return ctx.error(expr.range, "'-' on a bool; use where(…) or float(x)");
  if (tensor)
    return Tensor{
        ctx.emit(isNot ? Op::Not : Op::Neg, {tensor->value}, ctx.type(*tensor), {}, expr.range)};
  return isNot ? Entity(!*value.as<bool>()) : numberNegate(ctx, value, expr.range);
}

/// Says what the two sides of an element-wise operation have for themselves, and what would help.
static void noteDifference(Context &ctx, Report &report, const Type &left, const Type &right) {
  DimList onlyLeft, onlyRight;
  for (DimId dim : left.dims)
    if (!right.has(dim))
      onlyLeft.push_back(dim);
  for (DimId dim : right.dims)
    if (!left.has(dim))
      onlyRight.push_back(dim);
  std::string text = "only the left has " + ctx.quoted(onlyLeft) + ", only the right " +
                     ctx.quoted(onlyRight) + "; expand(x, " + ctx.dimName(onlyRight.front()).str() +
                     ") adds a dimension";
  for (DimId a : onlyLeft)
    for (DimId b : onlyRight)
      if (ctx.size(a) == ctx.size(b)) {
        report.note({}, text + ", reshape(x, " + ctx.dimName(b) + " -> " + ctx.dimName(a) +
                            ") renames one");
        return;
      }
  report.note({}, text);
}

std::optional<DimList> Evaluator::join(llvm::StringRef op, const Entity &lhs, const Entity &rhs,
                                       lang::SourceRange range) {
  for (const Entity *side : {&lhs, &rhs})
    if (!side->is<Tensor>() && !side->isNumber()) {
      ctx.error(range, "'" + op + "' works on numbers and tensors, not on " + ctx.describe(*side));
      return std::nullopt;
    }
  Type left, right;
  if (const auto *tensor = lhs.as<Tensor>())
    left = ctx.type(*tensor);
  if (const auto *tensor = rhs.as<Tensor>())
    right = ctx.type(*tensor);
  if (llvm::all_of(right.dims, [&](DimId dim) { return left.has(dim); }))
    return left.dims;
  if (llvm::all_of(left.dims, [&](DimId dim) { return right.has(dim); }))
    return right.dims;
  Report report = ctx.error(range, "'" + op +
                                       "' needs one operand whose dimensions contain the "
                                       "other's: " +
                                       ctx.typeName(left) + " and " + ctx.typeName(right));
  noteDifference(ctx, report, left, right);
  return std::nullopt;
}

static Op opOf(BinaryOp op) {
  switch (op) {
  case BinaryOp::Mul:
    return Op::Mul;
  case BinaryOp::Div:
    return Op::Div;
  case BinaryOp::Rem:
    return Op::Mod;
  case BinaryOp::Add:
    return Op::Add;
  case BinaryOp::Sub:
    return Op::Sub;
  case BinaryOp::Less:
    return Op::Lt;
  case BinaryOp::LessEqual:
    return Op::Le;
  case BinaryOp::Greater:
    return Op::Gt;
  case BinaryOp::GreaterEqual:
    return Op::Ge;
  case BinaryOp::Equal:
    return Op::Eq;
  case BinaryOp::NotEqual:
    return Op::Ne;
  case BinaryOp::And:
    return Op::And;
  case BinaryOp::Or:
    return Op::Or;
  case BinaryOp::MatMul:
    return Op::Dot;
  }
  return Op::Add;
}

Entity Evaluator::binary(const ast::BinaryExpr &expr) {
  if (ast::isComparison(expr.op))
    if (const auto *inner = llvm::dyn_cast<ast::BinaryExpr>(expr.lhs.get()))
      if (ast::isComparison(inner->op))
        return ctx.error(expr.range, "comparisons don't chain; write 'a < b and b < c'");
  Entity lhs = evaluate(*expr.lhs), rhs = evaluate(*expr.rhs);
  if (lhs.isPoison() || rhs.isPoison())
    return Poison{};
  if (expr.op == BinaryOp::MatMul)
    return matmul(lhs, rhs, expr);
  lhs = ctx.number(lhs);
  rhs = ctx.number(rhs);
  if (lhs.isPoison() || rhs.isPoison())
    return Poison{};
  if (expr.op == BinaryOp::And || expr.op == BinaryOp::Or)
    return logic(ast::spelling(expr.op), lhs, rhs, expr.range);
  if (lhs.isNumber() && rhs.isNumber())
    return numberBinary(ctx, expr, lhs, rhs);
  return ast::isComparison(expr.op) ? comparison(expr, lhs, rhs) : arithmetic(expr, lhs, rhs);
}

Entity Evaluator::logic(llvm::StringRef op, const Entity &lhs, const Entity &rhs,
                        lang::SourceRange range) {
  std::optional<DimList> dims = join(op, lhs, rhs, range);
  if (!dims)
    return Poison{};
  Kind left = kind(lhs), right = kind(rhs);
  if (left != Kind::Bool || right != Kind::Bool)
    return ctx.error(range, "'" + op + "' needs bool operands, has " + kindName(left) + " and " +
                                kindName(right));
  if (lhs.is<bool>() && rhs.is<bool>())
    return op == "and" ? *lhs.as<bool>() && *rhs.as<bool>() : *lhs.as<bool>() || *rhs.as<bool>();
  ValueId a = operand(lhs, Kind::Bool, range), b = operand(rhs, Kind::Bool, range);
  return Tensor{
      ctx.emit(op == "and" ? Op::And : Op::Or, {a, b}, Type{Kind::Bool, *dims}, {}, range)};
}

/// "[batch]" of a tensor, "a float" of a number, for messages about two operands.
static std::string operandName(const Context &ctx, const Entity &value) {
  if (const auto *tensor = value.as<Tensor>())
    return ctx.typeName(ctx.type(*tensor));
  return numberText(value);
}

Entity Evaluator::arithmetic(const ast::BinaryExpr &expr, const Entity &lhs, const Entity &rhs) {
  llvm::StringRef op = ast::spelling(expr.op);
  std::optional<DimList> dims = join(op, lhs, rhs, expr.range);
  if (!dims)
    return Poison{};
  Kind left = kind(lhs), right = kind(rhs);
  if (left == Kind::Bool || right == Kind::Bool)
    return ctx.error(expr.range, "'" + op + "' on a bool; use where(…) or float(x)");
  if (expr.op == BinaryOp::Div && left == Kind::Int && right == Kind::Int)
    return ctx.error(expr.range, "'/' on int tensors " + operandName(ctx, lhs) + " and " +
                                     operandName(ctx, rhs) + "; use float(x)");
  Kind result = left == Kind::Int && right == Kind::Int ? Kind::Int : Kind::Float;
  ValueId a = operand(lhs, result, expr.lhs->range), b = operand(rhs, result, expr.rhs->range);
  return Tensor{ctx.emit(opOf(expr.op), {a, b}, Type{result, *dims}, {}, expr.range)};
}

Entity Evaluator::comparison(const ast::BinaryExpr &expr, const Entity &lhs, const Entity &rhs) {
  llvm::StringRef op = ast::spelling(expr.op);
  std::optional<DimList> dims = join(op, lhs, rhs, expr.range);
  if (!dims)
    return Poison{};
  Kind left = kind(lhs), right = kind(rhs);
  bool bothTensors = lhs.is<Tensor>() && rhs.is<Tensor>();
  bool oneBool = (left == Kind::Bool) != (right == Kind::Bool);
  if (left != right && (bothTensors || oneBool))
    return ctx.error(expr.range, "'" + op + "' compares " + kindName(left) + " with " +
                                     kindName(right) + "; use float(x)");
  bool isEquality = expr.op == BinaryOp::Equal || expr.op == BinaryOp::NotEqual;
  if (left == Kind::Bool && !isEquality)
    return ctx.error(expr.range, "'" + op + "' on a bool; use where(…) or float(x)");
  Kind common = left == right ? left : Kind::Float;
  ValueId a = operand(lhs, common, expr.lhs->range), b = operand(rhs, common, expr.rhs->range);
  return Tensor{ctx.emit(opOf(expr.op), {a, b}, Type{Kind::Bool, *dims}, {}, expr.range)};
}

/// Names that both sides have, in the order of the left.
static DimList shared(const Type &left, const Type &right) {
  DimList dims;
  for (DimId dim : left.dims)
    if (right.has(dim))
      dims.push_back(dim);
  return dims;
}

static Entity reportMatmul(Context &ctx, const Type &left, const Type &right,
                           lang::SourceRange range) {
  Report report = ctx.error(range, "'@' contracts the last dimension on its left with the first "
                                   "on its right, and these differ: " +
                                       ctx.typeName(left) + " @ " + ctx.typeName(right));
  DimId last = left.dims.back();
  DimList both = shared(left, right);
  if (!both.empty()) {
    DimId over = llvm::is_contained(both, last) ? last : both.back();
    report.note({}, "dot(a, b, over: " + ctx.dimName(over) +
                        ") contracts a dimension wherever it stands");
    return report;
  }
  for (DimId dim : right.dims)
    if (ctx.size(dim) == ctx.size(last)) {
      llvm::StringRef from = ctx.dimName(dim), to = ctx.dimName(last);
      report.note({}, "'" + from + "' has the same size as '" + to + "'; reshape(x, " + from +
                          " -> " + to + ") renames it");
      break;
    }
  return report;
}

Entity Evaluator::matmul(const Entity &lhs, const Entity &rhs, const ast::BinaryExpr &expr) {
  for (const Entity *side : {&lhs, &rhs}) {
    const auto *tensor = side->as<Tensor>();
    if (!tensor || ctx.type(*tensor).dims.empty())
      return ctx.error(expr.range, "'@' multiplies tensors, not " + ctx.describe(*side));
  }
  Tensor a = *lhs.as<Tensor>(), b = *rhs.as<Tensor>();
  Type left = ctx.type(a), right = ctx.type(b);
  DimId over = left.dims.back();
  if (right.dims.front() != over)
    return reportMatmul(ctx, left, right, expr.range);
  DimList twice = shared(left, right);
  twice.pop_back();
  if (!twice.empty())
    return ctx
        .error(expr.range, "'@' would give " + ctx.quoted(twice) + " twice: " + ctx.typeName(left) +
                               " @ " + ctx.typeName(right))
        .note({}, "dot(a, b, over: " + ctx.dimName(over) + ") keeps one, aligned by name");
  return contract({a, b}, {over}, expr.range);
}

Entity Evaluator::contract(llvm::ArrayRef<Tensor> operands, llvm::ArrayRef<DimId> over,
                           lang::SourceRange range) {
  Type result;
  DimList all;
  llvm::SmallVector<ValueId> values;
  for (Tensor operand : operands) {
    const Type &type = ctx.type(operand);
    if (type.kind != Kind::Float)
      return ctx.error(range, "products are of float tensors, not " + ctx.typeName(type));
    for (DimId dim : type.dims) {
      if (!llvm::is_contained(all, dim))
        all.push_back(dim);
      if (!llvm::is_contained(over, dim) && !result.has(dim))
        result.dims.push_back(dim);
    }
    values.push_back(operand.value);
  }
  for (DimId dim : over) {
    if (llvm::is_contained(all, dim))
      continue;
    llvm::SmallVector<llvm::StringRef> candidates;
    for (DimId other : all)
      candidates.push_back(ctx.dimName(other));
    return ctx.error(range, "no operand of 'dot' has '" + ctx.dimName(dim) + "'" +
                                lang::didYouMean(ctx.dimName(dim), candidates));
  }
  return Tensor{ctx.emit(Op::Dot, values, std::move(result), DimsAttrs{DimList(over)}, range)};
}

} // namespace ptlc::sema
