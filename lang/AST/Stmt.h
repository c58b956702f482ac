//===- Stmt.h - Statements of functions ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLC_LANG_AST_STMT_H
#define PTLC_LANG_AST_STMT_H

#include "lang/AST/Expr.h"
#include "lang/AST/Type.h"

namespace ptlc::ast {

class Stmt : public Node {
public:
  static bool classof(const Node *n) {
    return n->kind() >= Kind::LetStmt && n->kind() <= Kind::AssertStmt;
  }

protected:
  using Node::Node;
};
using StmtPtr = std::unique_ptr<Stmt>;

/// The statements between { and }.
struct Block {
  std::vector<StmtPtr> statements;
  SourceRange range; ///< with the braces
};

/// `let x: [..] = e`, `let (a, b) = e`.
class LetStmt : public Stmt {
public:
  LetStmt() : Stmt(Kind::LetStmt) {}
  static bool classof(const Node *n) { return n->kind() == Kind::LetStmt; }

  std::vector<Name> names;
  bool isTuple = false; ///< written with parentheses
  TypePtr type;         ///< null when not given
  ExprPtr value;
};

/// `var x = e`.
class VarStmt : public Stmt {
public:
  VarStmt() : Stmt(Kind::VarStmt) {}
  static bool classof(const Node *n) { return n->kind() == Kind::VarStmt; }

  Name name;
  TypePtr type; ///< null when not given
  ExprPtr value;
};

/// `x = e`.
class AssignStmt : public Stmt {
public:
  AssignStmt() : Stmt(Kind::AssignStmt) {}
  static bool classof(const Node *n) { return n->kind() == Kind::AssignStmt; }

  Name name;
  ExprPtr value;
};

/// `for i in 0..n { ... }`, `for m in stack { ... }`.
class ForStmt : public Stmt {
public:
  ForStmt() : Stmt(Kind::ForStmt) {}
  static bool classof(const Node *n) { return n->kind() == Kind::ForStmt; }

  Name variable;
  ExprPtr iterable;
  Block body;
};

/// `metric accuracy = e`.
class MetricStmt : public Stmt {
public:
  MetricStmt() : Stmt(Kind::MetricStmt) {}
  static bool classof(const Node *n) { return n->kind() == Kind::MetricStmt; }

  Name name;
  ExprPtr value;
};

/// `return e`.
class ReturnStmt : public Stmt {
public:
  ReturnStmt() : Stmt(Kind::ReturnStmt) {}
  static bool classof(const Node *n) { return n->kind() == Kind::ReturnStmt; }

  ExprPtr value;
};

/// `assert e, "why"` in a function.
class AssertStmt : public Stmt {
public:
  AssertStmt() : Stmt(Kind::AssertStmt) {}
  static bool classof(const Node *n) { return n->kind() == Kind::AssertStmt; }

  ExprPtr condition;
  std::unique_ptr<StringExpr> message; ///< null when not given
};

} // namespace ptlc::ast

#endif // PTLC_LANG_AST_STMT_H
