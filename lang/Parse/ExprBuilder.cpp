//===- ExprBuilder.cpp - Expressions, names and types ---------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "lang/Parse/TreeBuilder.h"

using namespace ptlc::parse;
using namespace ptlc;
using antlr4::tree::TerminalNode;

ast::ExprPtr TreeBuilder::expr(P::ExprContext *context) {
  if (ast::ExprPtr node = literal(context))
    return node;
  if (ast::ExprPtr node = postfix(context))
    return node;
  return operation(context);
}

ast::ExprPtr TreeBuilder::literal(P::ExprContext *context) {
  if (auto *ref = dynamic_cast<P::RefContext *>(context)) {
    auto node = make<ast::RefExpr>(context);
    node->name = name(ref->name());
    return node;
  }
  if (auto *number = dynamic_cast<P::NumberContext *>(context)) {
    auto node = make<ast::NumberExpr>(context);
    node->text = places.text(context->getStart());
    node->isInt = number->INT() != nullptr;
    return node;
  }
  if (auto *boolean = dynamic_cast<P::BoolContext *>(context)) {
    auto node = make<ast::BoolExpr>(context);
    node->value = boolean->TRUE() != nullptr;
    return node;
  }
  if (auto *string = dynamic_cast<P::TextContext *>(context))
    return text(string->STRING());
  return nullptr;
}

ast::ExprPtr TreeBuilder::postfix(P::ExprContext *context) {
  if (auto *call = dynamic_cast<P::CallContext *>(context)) {
    auto node = make<ast::CallExpr>(context);
    node->callee = expr(call->expr());
    node->args = args(call->args());
    return node;
  }
  if (auto *index = dynamic_cast<P::IndexContext *>(context)) {
    auto node = make<ast::IndexExpr>(context);
    node->base = expr(index->expr());
    node->args = args(index->args());
    return node;
  }
  if (auto *access = dynamic_cast<P::AccessContext *>(context)) {
    auto node = make<ast::AccessExpr>(context);
    node->base = expr(access->expr());
    if (llvm::isa<ast::NumberExpr>(*node->base))
      error(places.of(access->DOT()),
            "a number has no parts; a fraction is written without blanks");
    node->isIndex = access->INT() != nullptr;
    node->member = node->isIndex ? name(access->INT()) : name(access->name());
    return node;
  }
  if (auto *group = dynamic_cast<P::GroupContext *>(context)) {
    auto node = make<ast::GroupExpr>(context);
    for (P::ExprContext *element : group->expr())
      node->elements.push_back(expr(element));
    return node;
  }
  return nullptr;
}

static ast::BinaryOp binaryOp(size_t type) {
  using P = ptlgrammar::PtlParser;
  switch (type) {
  case P::STAR:
    return ast::BinaryOp::Mul;
  case P::SLASH:
    return ast::BinaryOp::Div;
  case P::PERCENT:
    return ast::BinaryOp::Rem;
  case P::AT:
    return ast::BinaryOp::MatMul;
  case P::MINUS:
    return ast::BinaryOp::Sub;
  case P::LESS:
    return ast::BinaryOp::Less;
  case P::LESSEQUAL:
    return ast::BinaryOp::LessEqual;
  case P::GREATER:
    return ast::BinaryOp::Greater;
  case P::GREATEREQUAL:
    return ast::BinaryOp::GreaterEqual;
  case P::EQUAL:
    return ast::BinaryOp::Equal;
  case P::NOTEQUAL:
    return ast::BinaryOp::NotEqual;
  case P::AND:
    return ast::BinaryOp::And;
  case P::OR:
    return ast::BinaryOp::Or;
  default:
    return ast::BinaryOp::Add;
  }
}

ast::ExprPtr TreeBuilder::operation(P::ExprContext *context) {
  auto unary = [&](ast::UnaryOp op, TerminalNode *sign, P::ExprContext *operand) {
    auto node = make<ast::UnaryExpr>(context);
    node->op = op;
    node->opRange = places.of(sign);
    node->operand = expr(operand);
    return node;
  };
  if (auto *negate = dynamic_cast<P::NegateContext *>(context))
    return unary(ast::UnaryOp::Negate, negate->MINUS(), negate->expr());
  if (auto *negation = dynamic_cast<P::NotContext *>(context))
    return unary(ast::UnaryOp::Not, negation->NOT(), negation->expr());
  if (auto *range = dynamic_cast<P::RangeContext *>(context)) {
    auto node = make<ast::RangeExpr>(context);
    node->opRange = places.of(range->RANGE());
    node->first = expr(range->expr(0));
    node->last = expr(range->expr(1));
    return node;
  }
  auto *binary = static_cast<P::BinaryContext *>(context);
  auto node = make<ast::BinaryExpr>(context);
  node->op = binaryOp(binary->op->getType());
  node->opRange = places.of(binary->op);
  node->lhs = expr(binary->expr(0));
  node->rhs = expr(binary->expr(1));
  return node;
}

std::vector<ast::Arg> TreeBuilder::args(P::ArgsContext *context) {
  std::vector<ast::Arg> list;
  if (context)
    for (P::ArgContext *each : context->arg())
      list.push_back(arg(each));
  return list;
}

ast::Arg TreeBuilder::arg(P::ArgContext *context) {
  ast::Arg result;
  result.range = places.of(context);
  if (context->label())
    result.label = label(context->label());
  result.value = expr(context->expr(0));
  if (!context->ARROW())
    return result;
  auto arrow = std::make_unique<ast::ArrowExpr>();
  arrow->range = places.of(context->expr(0)->getStart(), context->getStop());
  arrow->opRange = places.of(context->ARROW());
  arrow->from = std::move(result.value);
  arrow->to = expr(context->expr(1));
  result.value = std::move(arrow);
  return result;
}

ast::Arg TreeBuilder::entry(P::EntryContext *context) {
  if (context->arg())
    return arg(context->arg());
  ast::Arg result;
  result.range = places.of(context);
  if (context->label())
    result.label = label(context->label());
  result.value = measure(context->measure());
  return result;
}

ast::ExprPtr TreeBuilder::measure(P::MeasureContext *context) {
  auto node = make<ast::MeasureExpr>(context);
  node->number = std::make_unique<ast::NumberExpr>();
  node->number->range = places.of(context->getStart());
  node->number->text = places.text(context->getStart());
  node->number->isInt = context->INT() != nullptr;
  node->unit = name(context->name(0));
  if (context->SLASH())
    node->per = name(context->name(1));
  return node;
}

ast::Path TreeBuilder::label(P::LabelContext *context) {
  if (context->path())
    return path(context->path());
  ast::Path result;
  result.range = places.of(context);
  result.parts.push_back(name(context->IN()));
  return result;
}

ast::TypePtr TreeBuilder::type(P::TypeContext *context) {
  if (!context->LSQUARE()) {
    auto node = make<ast::ScalarType>(context);
    node->name = context->DIM() ? name(context->DIM()) : name(context->name());
    return node;
  }
  auto node = make<ast::TensorType>(context);
  if (context->name())
    node->element = name(context->name());
  node->hasRest = context->rest != nullptr;
  if (node->hasRest)
    node->restRange = places.of(context->rest);
  for (P::DimensionContext *each : context->dimension())
    node->dims.push_back(dimension(each));
  return node;
}

ast::Dimension TreeBuilder::dimension(P::DimensionContext *context) {
  ast::Dimension result;
  result.range = places.of(context);
  result.path = path(context->path());
  if (!context->AT())
    return result;
  result.advice.range = places.of(context->AT()->getSymbol(), context->getStop());
  result.advice.grouped = context->names() != nullptr;
  if (context->names())
    result.advice.axes = names(context->names());
  else
    result.advice.axes.push_back(name(context->name()));
  return result;
}

ast::Path TreeBuilder::path(P::PathContext *context) {
  ast::Path result;
  result.range = places.of(context);
  for (P::NameContext *each : context->name())
    result.parts.push_back(name(each));
  return result;
}

ast::Name TreeBuilder::name(P::NameContext *context) {
  return {places.text(context->getStart()), places.of(context->getStart())};
}

ast::Name TreeBuilder::name(TerminalNode *node) {
  return {places.text(node->getSymbol()), places.of(node)};
}

std::vector<ast::Name> TreeBuilder::names(P::NamesContext *context) {
  std::vector<ast::Name> list;
  for (P::NameContext *each : context->name())
    list.push_back(name(each));
  return list;
}

std::unique_ptr<ast::StringExpr> TreeBuilder::text(TerminalNode *node) {
  auto result = std::make_unique<ast::StringExpr>();
  result->range = places.of(node);
  result->text = places.text(node->getSymbol());
  llvm::StringRef inner = result->text.drop_front().drop_back();
  for (size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] != '\\') {
      result->value += inner[i];
      continue;
    }
    ++i; // the lexer lets no string end in a lone backslash
    switch (inner[i]) {
    case 'n':
      result->value += '\n';
      break;
    case 't':
      result->value += '\t';
      break;
    case '\\':
    case '"':
      result->value += inner[i];
      break;
    default:
      error(result->range, "unknown escape in a string; there are \\\\, \\\", \\n and \\t");
      return result;
    }
  }
  return result;
}
