//===- AST.cpp - The tree of a .ptl file ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "lang/AST/AST.h"

using namespace ptlc::ast;

std::string Path::str() const {
  std::string text;
  for (const Name &part : parts) {
    if (!text.empty())
      text += '.';
    text += part.text;
  }
  return text;
}

std::string NumberExpr::digits() const {
  std::string result;
  for (char c : text)
    if (c != '_')
      result += c;
  return result;
}

llvm::StringRef ptlc::ast::spelling(BinaryOp op) {
  switch (op) {
  case BinaryOp::Mul:
    return "*";
  case BinaryOp::Div:
    return "/";
  case BinaryOp::Rem:
    return "%";
  case BinaryOp::MatMul:
    return "@";
  case BinaryOp::Add:
    return "+";
  case BinaryOp::Sub:
    return "-";
  case BinaryOp::Less:
    return "<";
  case BinaryOp::LessEqual:
    return "<=";
  case BinaryOp::Greater:
    return ">";
  case BinaryOp::GreaterEqual:
    return ">=";
  case BinaryOp::Equal:
    return "==";
  case BinaryOp::NotEqual:
    return "!=";
  case BinaryOp::And:
    return "and";
  case BinaryOp::Or:
    return "or";
  }
  return "";
}

const Expr *ptlc::ast::stripGroups(const Expr *expr) {
  while (auto *group = llvm::dyn_cast_or_null<GroupExpr>(expr)) {
    if (group->isTuple())
      break;
    expr = group->elements.front().get();
  }
  return expr;
}
