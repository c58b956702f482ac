//===- Decl.h - Declarations and directives --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLC_LANG_AST_DECL_H
#define PTLC_LANG_AST_DECL_H

#include "lang/AST/Stmt.h"

namespace ptlc::ast {

class Decl : public Node {
public:
  static bool classof(const Node *n) {
    return n->kind() >= Kind::ImportDecl && n->kind() <= Kind::ClusterDecl;
  }

  /// The `///` lines above, without slashes and the blank after them, joined by '\n'.
  std::string doc;

protected:
  using Node::Node;
};
using DeclPtr = std::unique_ptr<Decl>;

/// `import std.nn`, `import "a.ptl" as b`.
class ImportDecl : public Decl {
public:
  ImportDecl() : Decl(Kind::ImportDecl) {}
  static bool classof(const Node *n) { return n->kind() == Kind::ImportDecl; }

  Path path;                        ///< empty for a file
  std::unique_ptr<StringExpr> file; ///< null for a path
  Name alias;                       ///< empty without `as`
};

/// `name = expr` in a list of sizes or of mesh axes.
struct Bind {
  Name name;
  ExprPtr value;
  SourceRange range;
  std::string doc; ///< the `///` lines above this bind; the first has the declaration's
};

/// `dim a = 1, b = 2` or `const c = 3`, in a file or a module.
class SizesDecl : public Decl {
public:
  SizesDecl() : Decl(Kind::SizesDecl) {}
  static bool classof(const Node *n) { return n->kind() == Kind::SizesDecl; }

  bool isDim = true; ///< `dim`, or else `const`
  std::vector<Bind> binds;
};

/// `assert e, "why"` in a file or a module.
class AssertDecl : public Decl {
public:
  AssertDecl() : Decl(Kind::AssertDecl) {}
  static bool classof(const Node *n) { return n->kind() == Kind::AssertDecl; }

  ExprPtr condition;
  std::unique_ptr<StringExpr> message; ///< null when not given
};

/// A parameter of a module or a function: `n: int = 2`, `x: [.., d]`, `x`.
struct Param {
  Name name;
  TypePtr type;         ///< null when not given
  ExprPtr defaultValue; ///< null when not given
  SourceRange range;
};

/// `frozen weight w: [a, b] = normal(0.02)`.
class WeightDecl : public Decl {
public:
  WeightDecl() : Decl(Kind::WeightDecl) {}
  static bool classof(const Node *n) { return n->kind() == Kind::WeightDecl; }

  bool isFrozen = false;
  Name name;
  TypePtr type;
  ExprPtr init; ///< null when not given, which is an error that Sema reports
};

/// `repeat(n)`, `repeat(i in a..b)`.
struct Repeat {
  Name variable; ///< empty without `in`
  ExprPtr count; ///< a number or a range
  SourceRange range;
};

/// `ln = nn.LayerNorm(embed)`, `blocks = repeat(layers) Block()`.
class PartDecl : public Decl {
public:
  PartDecl() : Decl(Kind::PartDecl) {}
  static bool classof(const Node *n) { return n->kind() == Kind::PartDecl; }

  bool isFrozen = false;
  Name name;
  std::unique_ptr<Repeat> repeat; ///< null for a single part
  ExprPtr value;                  ///< should be a call of a module; Sema says so if not
};

/// `fn f(x: [..]) -> [..] { ... }`, `fn f(x) = e`.
class FunctionDecl : public Decl {
public:
  FunctionDecl() : Decl(Kind::FunctionDecl) {}
  static bool classof(const Node *n) { return n->kind() == Kind::FunctionDecl; }

  Name name;
  std::vector<Param> params;
  SourceRange paramsRange;      ///< with the parentheses
  std::vector<TypePtr> results; ///< empty when not given
  bool resultsGrouped = false;  ///< written with parentheses: a tuple
  ExprPtr value;                ///< the form `= e`; null for a block
  Block body;                   ///< the form `{ ... }`
};

/// `module M(params) { ... }`, `model M { ... }`. Members in order: SizesDecl,
/// AssertDecl, WeightDecl, PartDecl, FunctionDecl.
class ModuleDecl : public Decl {
public:
  ModuleDecl() : Decl(Kind::ModuleDecl) {}
  static bool classof(const Node *n) { return n->kind() == Kind::ModuleDecl; }

  bool isModel = false;
  Name name;
  bool hasParams = false; ///< parentheses were written, perhaps empty
  std::vector<Param> params;
  SourceRange paramsRange; ///< with the parentheses, not valid without
  std::vector<DeclPtr> members;
  SourceRange bodyRange; ///< with the braces
};

/// An entry of train, plan or cluster.
class Directive : public Node {
public:
  static bool classof(const Node *n) {
    return n->kind() == Kind::CallDirective || n->kind() == Kind::AssertDirective;
  }

  Name name; ///< of an assert: the quantity promised
  std::vector<Arg> args;

protected:
  using Node::Node;
};
using DirectivePtr = std::unique_ptr<Directive>;

/// `shard batch: dp`, `bucket 25 MB`: a call without its parentheses.
class CallDirective : public Directive {
public:
  CallDirective() : Directive(Kind::CallDirective) {}
  static bool classof(const Node *n) { return n->kind() == Kind::CallDirective; }
};

/// `assert memory <= 10 GB`, `assert traffic(tp) < 1 GB`.
class AssertDirective : public Directive {
public:
  AssertDirective() : Directive(Kind::AssertDirective) {}
  static bool classof(const Node *n) { return n->kind() == Kind::AssertDirective; }

  BinaryOp op = BinaryOp::LessEqual; ///< Less, LessEqual, Greater or GreaterEqual
  SourceRange opRange;
  ExprPtr bound; ///< an expression or a MeasureExpr
};

/// `train GPT { ... }`.
class TrainDecl : public Decl {
public:
  TrainDecl() : Decl(Kind::TrainDecl) {}
  static bool classof(const Node *n) { return n->kind() == Kind::TrainDecl; }

  Path model;
  std::vector<DirectivePtr> directives;
  SourceRange bodyRange; ///< with the braces
};

/// `plan p on mesh(dp = 2) of c { ... }`.
class PlanDecl : public Decl {
public:
  PlanDecl() : Decl(Kind::PlanDecl) {}
  static bool classof(const Node *n) { return n->kind() == Kind::PlanDecl; }

  Name name;
  std::vector<Bind> axes;
  SourceRange meshRange; ///< `mesh(...)`
  Path cluster;          ///< empty without `of`
  std::vector<DirectivePtr> directives;
  SourceRange bodyRange; ///< with the braces
};

/// `cluster c { nodes 4; memory 80 GB }`.
class ClusterDecl : public Decl {
public:
  ClusterDecl() : Decl(Kind::ClusterDecl) {}
  static bool classof(const Node *n) { return n->kind() == Kind::ClusterDecl; }

  Name name;
  std::vector<DirectivePtr> directives;
  SourceRange bodyRange; ///< with the braces
};

} // namespace ptlc::ast

#endif // PTLC_LANG_AST_DECL_H
