//===- Expr.h - Expressions and arguments ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLC_LANG_AST_EXPR_H
#define PTLC_LANG_AST_EXPR_H

#include "lang/AST/Node.h"

namespace ptlc::ast {

class Expr : public Node {
public:
  static bool classof(const Node *n) {
    return n->kind() >= Kind::NumberExpr && n->kind() <= Kind::MeasureExpr;
  }

protected:
  using Node::Node;
};
using ExprPtr = std::unique_ptr<Expr>;

/// One argument of a call, an index or a directive: `x`, `over: seq`, `a -> b`, `in: path`.
struct Arg {
  /// What stands before ':', empty without one. More than one part only in
  /// directives (`shard gpt.heads: tp`).
  Path label;
  /// Never null. ArrowExpr and MeasureExpr occur nowhere else.
  ExprPtr value;
  SourceRange range;

  bool isPositional() const { return label.empty(); }
};

/// `12`, `1_000`, `6e-4`.
class NumberExpr : public Expr {
public:
  NumberExpr() : Expr(Kind::NumberExpr) {}
  static bool classof(const Node *n) { return n->kind() == Kind::NumberExpr; }

  llvm::StringRef text; ///< as written, with underscores
  bool isInt = true;    ///< no '.' and no exponent

  /// Returns the digits without underscores.
  std::string digits() const;
};

/// `true`, `false`.
class BoolExpr : public Expr {
public:
  BoolExpr() : Expr(Kind::BoolExpr) {}
  static bool classof(const Node *n) { return n->kind() == Kind::BoolExpr; }

  bool value = false;
};

/// `"train.bin"`.
class StringExpr : public Expr {
public:
  StringExpr() : Expr(Kind::StringExpr) {}
  static bool classof(const Node *n) { return n->kind() == Kind::StringExpr; }

  llvm::StringRef text; ///< as written, with quotes and escapes
  std::string value;    ///< what it means, UTF-8
};

/// A name used.
class RefExpr : public Expr {
public:
  RefExpr() : Expr(Kind::RefExpr) {}
  static bool classof(const Node *n) { return n->kind() == Kind::RefExpr; }

  Name name;
};

/// `f(a, over: d)`.
class CallExpr : public Expr {
public:
  CallExpr() : Expr(Kind::CallExpr) {}
  static bool classof(const Node *n) { return n->kind() == Kind::CallExpr; }

  ExprPtr callee;
  std::vector<Arg> args;
};

/// `t[d: i]`, `xs[2]`, `xs[a..b]`.
class IndexExpr : public Expr {
public:
  IndexExpr() : Expr(Kind::IndexExpr) {}
  static bool classof(const Node *n) { return n->kind() == Kind::IndexExpr; }

  ExprPtr base;
  std::vector<Arg> args;
};

/// `a.b`, and `blocks.0`, which is `blocks[0]`.
class AccessExpr : public Expr {
public:
  AccessExpr() : Expr(Kind::AccessExpr) {}
  static bool classof(const Node *n) { return n->kind() == Kind::AccessExpr; }

  ExprPtr base;
  Name member; ///< a name, or digits when isIndex
  bool isIndex = false;
};

enum class UnaryOp : uint8_t { Negate, Not };

/// `-x`, `not c`.
class UnaryExpr : public Expr {
public:
  UnaryExpr() : Expr(Kind::UnaryExpr) {}
  static bool classof(const Node *n) { return n->kind() == Kind::UnaryExpr; }

  UnaryOp op = UnaryOp::Negate;
  SourceRange opRange;
  ExprPtr operand;
};

enum class BinaryOp : uint8_t {
  Mul,
  Div,
  Rem,
  MatMul,
  Add,
  Sub,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Equal,
  NotEqual,
  And,
  Or,
};

/// Returns the operator as it is written: "*", "<=", "and".
llvm::StringRef spelling(BinaryOp op);
inline bool isComparison(BinaryOp op) { return op >= BinaryOp::Less && op <= BinaryOp::NotEqual; }

/// Arithmetic, comparisons, `and` and `or`. A chain of comparisons nests to the left.
class BinaryExpr : public Expr {
public:
  BinaryExpr() : Expr(Kind::BinaryExpr) {}
  static bool classof(const Node *n) { return n->kind() == Kind::BinaryExpr; }

  BinaryOp op = BinaryOp::Add;
  SourceRange opRange;
  ExprPtr lhs, rhs;
};

/// `a..b`: a to b - 1.
class RangeExpr : public Expr {
public:
  RangeExpr() : Expr(Kind::RangeExpr) {}
  static bool classof(const Node *n) { return n->kind() == Kind::RangeExpr; }

  SourceRange opRange;
  ExprPtr first, last;
};

/// `(x)`, which is x, or the tuple `(x, y)`.
class GroupExpr : public Expr {
public:
  GroupExpr() : Expr(Kind::GroupExpr) {}
  static bool classof(const Node *n) { return n->kind() == Kind::GroupExpr; }

  std::vector<ExprPtr> elements;

  bool isTuple() const { return elements.size() != 1; }
};

/// `a -> (b, c)`.
class ArrowExpr : public Expr {
public:
  ArrowExpr() : Expr(Kind::ArrowExpr) {}
  static bool classof(const Node *n) { return n->kind() == Kind::ArrowExpr; }

  SourceRange opRange;
  ExprPtr from, to;
};

/// `80 GB`, `900 GB/s`: whole arguments of directives and promises only.
class MeasureExpr : public Expr {
public:
  MeasureExpr() : Expr(Kind::MeasureExpr) {}
  static bool classof(const Node *n) { return n->kind() == Kind::MeasureExpr; }

  std::unique_ptr<NumberExpr> number;
  Name unit;
  Name per; ///< empty without '/'
};

/// Returns the expression inside redundant parentheses: `((x))` gives x.
const Expr *stripGroups(const Expr *expr);

} // namespace ptlc::ast

#endif // PTLC_LANG_AST_EXPR_H
