//===- Node.h - What every node of the tree has ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The tree is what a file says, in order and to the letter: parentheses, the
// text of numbers and the doc comments are kept, nothing is resolved. Nodes own
// their children. Names are views of the source manager's text, which must
// outlive the tree.
//===----------------------------------------------------------------------===//
#ifndef PTLC_LANG_AST_NODE_H
#define PTLC_LANG_AST_NODE_H

#include "lang/Diag/Source.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Casting.h"

#include <memory>
#include <string>
#include <vector>

namespace ptlc::ast {

using lang::FileId;
using lang::SourcePos;
using lang::SourceRange;

/// All kinds of nodes. First/Last bound the ranges that `classof` tests.
enum class Kind : uint8_t {
  // Expressions
  NumberExpr,
  BoolExpr,
  StringExpr,
  RefExpr,
  CallExpr,
  IndexExpr,
  AccessExpr,
  UnaryExpr,
  BinaryExpr,
  RangeExpr,
  GroupExpr,
  ArrowExpr,
  MeasureExpr, // only as the value of an argument
  // Types
  TensorType,
  ScalarType,
  // Statements
  LetStmt,
  VarStmt,
  AssignStmt,
  ForStmt,
  MetricStmt,
  ReturnStmt,
  AssertStmt,
  // Declarations
  ImportDecl,
  SizesDecl,
  AssertDecl,
  WeightDecl,
  PartDecl,
  FunctionDecl,
  ModuleDecl,
  TrainDecl,
  PlanDecl,
  ClusterDecl,
  // Entries of train, plan and cluster
  CallDirective,
  AssertDirective,
  // The whole
  File,
};

class Node {
public:
  virtual ~Node() = default;
  Node(const Node &) = delete;
  Node &operator=(const Node &) = delete;

  Kind kind() const { return nodeKind; }

  /// From the node's first token to the end of its last.
  SourceRange range;

protected:
  explicit Node(Kind kind) : nodeKind(kind) {}

private:
  Kind nodeKind;
};

/// An identifier and where it stands.
struct Name {
  llvm::StringRef text;
  SourceRange range;

  bool empty() const { return text.empty(); }
  std::string str() const { return text.str(); }
};

/// Names joined by dots: a dimension, a module or a cluster, perhaps of another file.
struct Path {
  llvm::SmallVector<Name, 2> parts;
  SourceRange range;

  bool empty() const { return parts.empty(); }
  bool isSimple() const { return parts.size() == 1; }
  const Name &last() const { return parts.back(); }
  /// Returns "a.b.c".
  std::string str() const;
};

/// A comment, kept for the printer and for documentation.
struct Comment {
  llvm::StringRef text; ///< with its slashes, without trailing blanks
  SourceRange range;
  bool isDoc = false;    ///< begins with `///`
  bool ownsLine = false; ///< nothing but blanks before it on its line
};

} // namespace ptlc::ast

#endif // PTLC_LANG_AST_NODE_H
