//===- AST.h - The tree of a .ptl file -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Includes the whole tree. `llvm::isa`, `cast` and `dyn_cast` work on all nodes;
// a switch over `kind()` or `Visitor` dispatches.
//===----------------------------------------------------------------------===//
#ifndef PTLC_LANG_AST_AST_H
#define PTLC_LANG_AST_AST_H

#include "lang/AST/Decl.h"

namespace ptlc::ast {

/// A file. Items in order: ImportDecl, SizesDecl, AssertDecl, ModuleDecl,
/// FunctionDecl, TrainDecl, PlanDecl, ClusterDecl.
class File : public Node {
public:
  File() : Node(Kind::File) {}
  static bool classof(const Node *n) { return n->kind() == Kind::File; }

  FileId id;
  std::vector<DeclPtr> items;
  std::vector<Comment> comments; ///< all of the file, in order
  bool hasSyntaxErrors = false;  ///< items, members or statements with errors are left out
};

/// Returns a text form of a tree for tests and for comparing two trees: kinds,
/// names and values, no positions and no comments but doc comments.
std::string dump(const Node &node);

/// Dispatches on the kind of a node. Override `visitX(const X &)` in `Derived`;
/// what isn't overridden lands in visitExpr, visitStmt, ..., and then in visitNode.
template <typename Derived, typename Result = void> class Visitor {
public:
  Result visit(const Node &node) {
    switch (node.kind()) {
#define PTLC_AST_CASE(NAME)                                                                        \
  case Kind::NAME:                                                                                 \
    return self().visit##NAME(llvm::cast<NAME>(node));
#define PTLC_AST_NODE(NAME, BASE) PTLC_AST_CASE(NAME)
#include "lang/AST/Nodes.def"
#undef PTLC_AST_NODE
#undef PTLC_AST_CASE
    }
    return Result();
  }

#define PTLC_AST_NODE(NAME, BASE)                                                                  \
  Result visit##NAME(const NAME &node) { return self().visit##BASE(node); }
#include "lang/AST/Nodes.def"
#undef PTLC_AST_NODE
  Result visitExpr(const Expr &node) { return self().visitNode(node); }
  Result visitTypeExpr(const TypeExpr &node) { return self().visitNode(node); }
  Result visitStmt(const Stmt &node) { return self().visitNode(node); }
  Result visitDecl(const Decl &node) { return self().visitNode(node); }
  Result visitDirective(const Directive &node) { return self().visitNode(node); }
  Result visitNode(const Node &) { return Result(); }

private:
  Derived &self() { return static_cast<Derived &>(*this); }
};

} // namespace ptlc::ast

#endif // PTLC_LANG_AST_AST_H
