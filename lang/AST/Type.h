//===- Type.h - Written types ----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef PTLC_LANG_AST_TYPE_H
#define PTLC_LANG_AST_TYPE_H

#include "lang/AST/Node.h"

namespace ptlc::ast {

class TypeExpr : public Node {
public:
  static bool classof(const Node *n) {
    return n->kind() == Kind::TensorType || n->kind() == Kind::ScalarType;
  }

protected:
  using Node::Node;
};
using TypePtr = std::unique_ptr<TypeExpr>;

/// What a dimension's author advises: `@ tp`, `@ (cp, tp)`, `@ none`.
struct Advice {
  std::vector<Name> axes; ///< outermost first; the single name "none" stands for `none`
  bool isNone() const { return axes.size() == 1 && axes.front().text == "none"; }
  bool grouped = false; ///< written with parentheses
  SourceRange range;    ///< with the '@'; not valid when there is no advice
  bool isPresent() const { return range.isValid(); }
};

/// One dimension of a type.
struct Dimension {
  Path path;
  Advice advice;
  SourceRange range;
};

/// `[batch, seq]`, `int[..]`, `[.., embed @ tp]`.
class TensorType : public TypeExpr {
public:
  TensorType() : TypeExpr(Kind::TensorType) {}
  static bool classof(const Node *n) { return n->kind() == Kind::TensorType; }

  Name element;         ///< empty for float; "int", "bool", or a wrong word
  bool hasRest = false; ///< begins with `..`
  SourceRange restRange;
  std::vector<Dimension> dims;
};

/// `dim`, `int`, `float`, `bool` (or a wrong word): the type of a number known at compile time.
class ScalarType : public TypeExpr {
public:
  ScalarType() : TypeExpr(Kind::ScalarType) {}
  static bool classof(const Node *n) { return n->kind() == Kind::ScalarType; }

  Name name;
};

} // namespace ptlc::ast

#endif // PTLC_LANG_AST_TYPE_H
